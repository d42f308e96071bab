"""An independent oracle for attention: every formula written out with plain loops, in float64.

Queries are `b h q d`, keys `b h k d`, values `b h k v`; scores and weights are `b h q k`.
In a table of who may see whom, `True` means "may see". A query that may see nothing gets
all-zero weights, and weights outside the scope are exactly 0. A score of minus infinity
counts as "may not see".
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Scope = Callable[[int, int, int, int], bool]


# ---------------------------------------------------------------- scores (b h q k)


def _pairs(q: Array, k: Array, score: Callable[[Array, Array, int], float]) -> Array:
    """out[b,h,i,j] = score(q[b,h,i], k[b,h,j], h)."""
    q, k = np.asarray(q, np.float64), np.asarray(k, np.float64)
    out = np.zeros((q.shape[0], q.shape[1], q.shape[2], k.shape[2]))
    for b, h, i, j in np.ndindex(out.shape):
        out[b, h, i, j] = score(q[b, h, i], k[b, h, j], h)
    return out


def dot(q: Array, k: Array) -> Array:
    """q·k."""
    return _pairs(q, k, lambda x, y, h: float(x @ y))


def scaled_dot(q: Array, k: Array) -> Array:
    """q·k / sqrt(d)."""
    return _pairs(q, k, lambda x, y, h: float(x @ y) / math.sqrt(x.size))


def general(q: Array, k: Array, W: Array) -> Array:
    """q^T W k, with W (d_q, d_k)."""
    return _pairs(q, k, lambda x, y, h: float(x @ W @ y))


def additive(q: Array, k: Array, W: Array, U: Array, v: Array, bias: Array) -> Array:
    """v·tanh(W q + U k + bias), with W (a, d_q), U (a, d_k), v (a,), bias (a,)."""
    return _pairs(q, k, lambda x, y, h: float(v @ np.tanh(W @ x + U @ y + bias)))


def concat(q: Array, k: Array, W: Array, v: Array) -> Array:
    """v·tanh(W [q;k]), with W (a, d_q + d_k), v (a,)."""
    return _pairs(q, k, lambda x, y, h: float(v @ np.tanh(W @ np.concatenate([x, y]))))


def linear_concat(q: Array, k: Array, w: Array) -> Array:
    """w·[q;k], with w (d_q + d_k,)."""
    return _pairs(q, k, lambda x, y, h: float(w @ np.concatenate([x, y])))


def cosine(q: Array, k: Array, strength: Array | float, eps: float = 1e-8) -> Array:
    """strength * q·k / (max(|q|, eps) max(|k|, eps)), with strength (h,) or a scalar."""
    per_head = np.broadcast_to(np.asarray(strength, np.float64), (q.shape[1],))

    def score(x: Array, y: Array, h: int) -> float:
        x_norm = max(math.sqrt(float(x @ x)), eps)
        y_norm = max(math.sqrt(float(y @ y)), eps)
        return float(per_head[h]) * float(x @ y) / (x_norm * y_norm)

    return _pairs(q, k, score)


def location(q: Array, W: Array, n_keys: int) -> Array:
    """W[j]·q for j < n_keys, with W (longest, d_q): the key itself is not looked at."""
    q = np.asarray(q, np.float64)
    out = np.zeros((*q.shape[:3], n_keys))
    for b, h, i, j in np.ndindex(out.shape):
        out[b, h, i, j] = W[j] @ q[b, h, i]
    return out


def leaky(q: Array, k: Array, a_q: Array, a_k: Array, slope: float = 0.2) -> Array:
    """LeakyReLU(a_q·q + a_k·k), with a_q (h, d_q), a_k (h, d_k)."""

    def score(x: Array, y: Array, h: int) -> float:
        total = float(a_q[h] @ x) + float(a_k[h] @ y)
        return total if total > 0 else slope * total

    return _pairs(q, k, score)


def kernel(q: Array, k: Array, phi: Callable[[Array], Array]) -> Array:
    """log(phi(q)·phi(k)), with phi a function from a vector to a vector."""

    def score(x: Array, y: Array, h: int) -> float:
        product = float(phi(x) @ phi(y))
        return math.log(product) if product > 0 else -math.inf

    return _pairs(q, k, score)


def elu1(x: Array) -> Array:
    """elu(x) + 1: x + 1 where x > 0, exp(x) elsewhere."""
    return np.array([e + 1.0 if e > 0 else math.exp(e) for e in np.asarray(x, np.float64)])


def favor(x: Array, omega: Array) -> Array:
    """exp(omega x' - |x'|^2 / 2) / sqrt(m), with x' = x / d^(1/4), omega (m, d)."""
    x = np.asarray(x, np.float64) / float(x.size) ** 0.25
    features = [math.exp(float(row @ x) - float(x @ x) / 2) / math.sqrt(len(omega)) for row in omega]
    return np.array(features)


# ---------------------------------------------------------------- biases (h or 1, q, k), or b h q k


def alibi_slopes(heads: int) -> list[float]:
    """2^(-8(i+1)/n) for n a power of two; else those of the n below, then every other one of 2n."""
    n = 1
    while 2 * n <= heads:
        n = 2 * n
    slopes = [2.0 ** (-8.0 * (i + 1) / n) for i in range(n)]
    between = [2.0 ** (-8.0 * (i + 1) / (2 * n)) for i in range(0, 2 * n, 2)]
    return (slopes + between)[:heads]


def alibi(heads: int, q_pos: Sequence[int], k_pos: Sequence[int]) -> Array:
    """-slope_h * |q - k|."""
    return np.array([[[-s * abs(i - j) for j in k_pos] for i in q_pos] for s in alibi_slopes(heads)])


def _place(i: int, j: int, reach: int) -> int:
    """clip(j - i, -reach, reach) + reach."""
    return max(-reach, min(reach, j - i)) + reach


def relative(table: Array, q_pos: Sequence[int], k_pos: Sequence[int]) -> Array:
    """table[h, clip(k - q, -reach, reach) + reach], with table (h, 2 reach + 1)."""
    reach = (table.shape[1] - 1) // 2
    return np.array([[[float(row[_place(i, j, reach)]) for j in k_pos] for i in q_pos] for row in table])


def shaw(q: Array, table: Array, q_pos: Sequence[int], k_pos: Sequence[int]) -> Array:
    """q·table[clip(k - q, -reach, reach) + reach] / sqrt(d), with table (2 reach + 1, d); b h q k."""
    q = np.asarray(q, np.float64)
    reach = (table.shape[0] - 1) // 2
    out = np.zeros((*q.shape[:3], len(k_pos)))
    for b, h, i, j in np.ndindex(out.shape):
        row = table[_place(q_pos[i], k_pos[j], reach)]
        out[b, h, i, j] = float(q[b, h, i] @ row) / math.sqrt(q.shape[3])
    return out


def xl(
    q: Array,
    k: Array,
    u: Array,
    v: Array,
    W_r: Array,
    q_pos: Sequence[int],
    k_pos: Sequence[int],
    d_model: int,
) -> Array:
    """(u_h·k + q·(W_r r)_h + v_h·(W_r r)_h) / sqrt(d), with r = [sin.., cos..] of q - k; b h q k."""
    q, k = np.asarray(q, np.float64), np.asarray(k, np.float64)
    d = q.shape[3]
    frequencies = [10000.0 ** (-2.0 * i / d_model) for i in range(d_model // 2)]
    out = np.zeros((q.shape[0], q.shape[1], q.shape[2], k.shape[2]))
    for b, h, i, j in np.ndindex(out.shape):
        distance = q_pos[i] - k_pos[j]
        sines = [math.sin(f * distance) for f in frequencies]
        cosines = [math.cos(f * distance) for f in frequencies]
        r = W_r[h * d : (h + 1) * d] @ np.array(sines + cosines)
        total = float(u[h] @ k[b, h, j]) + float(q[b, h, i] @ r) + float(v[h] @ r)
        out[b, h, i, j] = total / math.sqrt(d)
    return out


def adaptive_span_mask(z: Array, ramp: float, q_pos: Sequence[int], k_pos: Sequence[int]) -> Array:
    """clip((ramp + z_h - |q - k|) / ramp, 0, 1), with z (h,)."""
    out = np.zeros((len(z), len(q_pos), len(k_pos)))
    for h, i, j in np.ndindex(out.shape):
        out[h, i, j] = max(0.0, min(1.0, (ramp + float(z[h]) - abs(q_pos[i] - k_pos[j])) / ramp))
    return out


def adaptive_span(z: Array, ramp: float, q_pos: Sequence[int], k_pos: Sequence[int]) -> Array:
    """log(adaptive_span_mask), minus infinity where the mask is 0."""
    mask = adaptive_span_mask(z, ramp, q_pos, k_pos)
    out = np.full(mask.shape, -np.inf)
    for place in np.ndindex(mask.shape):
        if mask[place] > 0:
            out[place] = math.log(mask[place])
    return out


# ---------------------------------------------------------------- selections (b h q k)


def _seen(scores: Array, allowed: Bools) -> list[int]:
    """The places of one row that are allowed and whose score is not minus infinity."""
    return [j for j in range(len(scores)) if allowed[j] and scores[j] > -math.inf]


def _softmax_over(scores: Array, places: Sequence[int]) -> Array:
    """exp(s_j) / sum over places of exp(s), 0 elsewhere, for one row."""
    out = np.zeros(len(scores))
    if len(places) > 0:
        highest = max(float(scores[j]) for j in places)
        total = sum(math.exp(float(scores[j]) - highest) for j in places)
        for j in places:
            out[j] = math.exp(float(scores[j]) - highest) / total
    return out


def _best(scores: Array, places: Sequence[int]) -> list[int]:
    """The places from the highest score to the lowest; among equals the earlier place first."""
    return sorted(places, key=lambda j: (-float(scores[j]), j))


def _rows(scores: Array, allowed: Bools, select: Callable[[Array, list[int]], Array]) -> Array:
    """out[b,h,i] = select(scores[b,h,i], the places seen in that row)."""
    scores = np.asarray(scores, np.float64)
    allowed = np.broadcast_to(allowed, scores.shape)
    out = np.zeros(scores.shape)
    for b, h, i in np.ndindex(scores.shape[:3]):
        out[b, h, i] = select(scores[b, h, i], _seen(scores[b, h, i], allowed[b, h, i]))
    return out


def softmax(scores: Array, allowed: Bools) -> Array:
    """exp(s_j) / sum over allowed keys of exp(s)."""
    return _rows(scores, allowed, _softmax_over)


def sparsemax(scores: Array, allowed: Bools) -> Array:
    """max(s_j - tau, 0), tau = (S_r - 1) / r, S_r = sum of the r best, r the largest with 1 + r s_r > S_r."""

    def select(row: Array, places: list[int]) -> Array:
        out = np.zeros(len(row))
        total, tau = 0.0, math.inf
        for r, j in enumerate(_best(row, places), start=1):
            total += float(row[j])
            if 1 + r * float(row[j]) > total:
                tau = (total - 1) / r
        for j in places:
            out[j] = max(float(row[j]) - tau, 0.0)
        return out

    return _rows(scores, allowed, select)


def top_k(scores: Array, allowed: Bools, k: int) -> Array:
    """softmax over the k best allowed keys; among equals the earlier key first."""
    return _rows(scores, allowed, lambda row, places: _softmax_over(row, _best(row, places)[:k]))


def likeliest(scores: Array, allowed: Bools) -> Array:
    """1 at the best allowed key (the earliest among equals), 0 elsewhere."""
    return top_k(scores, allowed, 1)


def local_p(scores: Array, allowed: Bools, centres: Array, reach: float) -> Array:
    """softmax over allowed |j - p| <= reach, times exp(-(j - p)^2 / (2 (reach/2)^2)), not renormalised."""
    scores = np.asarray(scores, np.float64)
    allowed = np.broadcast_to(allowed, scores.shape)
    out = np.zeros(scores.shape)
    for b, h, i in np.ndindex(scores.shape[:3]):
        row, p = scores[b, h, i], float(centres[b, h, i])
        near = [j for j in _seen(row, allowed[b, h, i]) if abs(j - p) <= reach]
        weights = _softmax_over(row, near)
        for j in near:
            out[b, h, i, j] = weights[j] * math.exp(-((j - p) ** 2) / (2 * (reach / 2) ** 2))
    return out


def local_p_centre(q: Array, W: Array, v: Array, allowed: Bools) -> Array:
    """S sigmoid(v·tanh(W q)), S the number of allowed keys of the row, with W (a, d_q), v (a,); b h q."""
    q = np.asarray(q, np.float64)
    allowed = np.broadcast_to(allowed, (*q.shape[:3], allowed.shape[-1]))
    out = np.zeros(q.shape[:3])
    for b, h, i in np.ndindex(q.shape[:3]):
        count = sum(1 for seen in allowed[b, h, i] if seen)
        out[b, h, i] = count / (1 + math.exp(-float(v @ np.tanh(W @ q[b, h, i]))))
    return out


def ntm(scores: Array, allowed: Bools, beta: Array, gate: Array, shift: Array, gamma: Array, first: Array) -> Array:
    """Each step: c = softmax(beta s); g c + (1 - g) previous; shift around the allowed keys; w^gamma / sum."""
    scores = np.asarray(scores, np.float64)
    allowed = np.broadcast_to(allowed, scores.shape)
    n_keys, n_shifts = scores.shape[3], shift.shape[3]
    out = np.zeros(scores.shape)
    for b, h in np.ndindex(scores.shape[:2]):
        previous = np.asarray(first[b, h], np.float64)
        for i in range(scores.shape[2]):
            row, may = scores[b, h, i], allowed[b, h, i]
            g = float(gate[b, h, i])
            keyed = np.array([float(beta[b, h, i]) * float(s) for s in row])
            content = _softmax_over(keyed, _seen(row, may))
            interpolated = g * content + (1 - g) * previous
            sharpened = np.zeros(n_keys)
            tape = [j for j in range(n_keys) if may[j]]
            for place, j in enumerate(tape):
                shifted = 0.0
                for s in range(n_shifts):
                    offset = s - n_shifts // 2
                    shifted += float(interpolated[tape[(place - offset) % len(tape)]]) * float(shift[b, h, i, s])
                if shifted > 0:
                    sharpened[j] = shifted ** float(gamma[b, h, i])
            total = float(sharpened.sum())
            previous = sharpened / total if total > 0 else np.zeros(n_keys)
            out[b, h, i] = previous
    return out


def scalar_shift(x: float, n: int) -> Array:
    """1 - frac(x) on floor(x), frac(x) on floor(x) + 1, places taken mod n: 6.7 is 0.3 on 6, 0.7 on 7."""
    low = math.floor(x)
    out = np.zeros(n)
    out[low % n] += 1 - (x - low)
    out[(low + 1) % n] += x - low
    return out


def slots(scores: Array, allowed: Bools) -> Array:
    """softmax over queries for each key (allowed pairs only), then w_ij / (sum_j w_ij + 1e-8)."""
    scores = np.asarray(scores, np.float64)
    allowed = np.broadcast_to(allowed, scores.shape)
    out = np.zeros(scores.shape)
    for b, h in np.ndindex(scores.shape[:2]):
        for j in range(scores.shape[3]):
            column = scores[b, h, :, j]
            out[b, h, :, j] = _softmax_over(column, _seen(column, allowed[b, h, :, j]))
        for i in range(scores.shape[2]):
            out[b, h, i] = out[b, h, i] / (float(out[b, h, i].sum()) + 1e-8)
    return out


# ---------------------------------------------------------------- scopes: (b, h, q, k) -> may q see k


def everything(b: int, h: int, q: int, k: int) -> bool:
    """True."""
    return True


def causal(b: int, h: int, q: int, k: int) -> bool:
    """k <= q."""
    return k <= q


def window(before: int, after: int) -> Scope:
    """q - before <= k <= q + after."""
    return lambda b, h, q, k: q - before <= k <= q + after


def dilated(reach: int, gap: int) -> Scope:
    """|q - k| <= reach * gap and (q - k) % gap == 0."""
    return lambda b, h, q, k: abs(q - k) <= reach * gap and (q - k) % gap == 0


def strided(step: int) -> Scope:
    """(q - k) % step == 0."""
    return lambda b, h, q, k: (q - k) % step == 0


def block(size: int) -> Scope:
    """q // size == k // size."""
    return lambda b, h, q, k: q // size == k // size


def first(count: int) -> Scope:
    """k < count or q < count."""
    return lambda b, h, q, k: k < count or q < count


def lengths(n: Sequence[int]) -> Scope:
    """k < n[b]."""
    return lambda b, h, q, k: k < n[b]


def table(scope: Scope, b: int, h: int, q_pos: Sequence[int], k_pos: Sequence[int]) -> Bools:
    """out[b,h,i,j] = scope(b, h, q_pos[i], k_pos[j])."""
    out = np.zeros((b, h, len(q_pos), len(k_pos)), dtype=np.bool_)
    for bb, hh, i, j in np.ndindex(out.shape):
        out[bb, hh, i, j] = scope(bb, hh, q_pos[i], k_pos[j])
    return out


# ---------------------------------------------------------------- reading, positions, other forms


def read(weights: Array, values: Array) -> Array:
    """out[b,h,i] = sum_j weights[b,h,i,j] values[b,h,j]."""
    weights, values = np.asarray(weights, np.float64), np.asarray(values, np.float64)
    out = np.zeros((*weights.shape[:3], values.shape[3]))
    for b, h, i, j in np.ndindex(weights.shape):
        out[b, h, i] += weights[b, h, i, j] * values[b, h, j]
    return out


def rotary(x: Array, positions: Sequence[int], base: float = 10000.0) -> Array:
    """(x_i cos a - x_{i+d/2} sin a, x_i sin a + x_{i+d/2} cos a), with a = p base^(-2i/d); x is b h n d."""
    x = np.asarray(x, np.float64)
    d = x.shape[3]
    half = d // 2
    out = np.zeros(x.shape)
    for b, h, n, i in np.ndindex(*x.shape[:3], half):
        angle = positions[n] * base ** (-2.0 * i / d)
        one, two = x[b, h, n, i], x[b, h, n, i + half]
        out[b, h, n, i] = one * math.cos(angle) - two * math.sin(angle)
        out[b, h, n, i + half] = one * math.sin(angle) + two * math.cos(angle)
    return out


def sinusoid(p: float, d: int) -> Array:
    """out[2i] = sin(p / 10000^(2i/d)), out[2i+1] = cos(p / 10000^(2i/d))."""
    out = np.zeros(d)
    for place in range(d):
        angle = p / 10000.0 ** (2.0 * (place // 2) / d)
        out[place] = math.sin(angle) if place % 2 == 0 else math.cos(angle)
    return out


def message_passing(q: Array, k: Array, v: Array, edges: Sequence[tuple[int, int]]) -> Array:
    """out[r] = sum over its senders s of softmax_s(q_r·k_s / sqrt(d)) v_s; 0 without senders; arrays n d."""
    q, k, v = np.asarray(q, np.float64), np.asarray(k, np.float64), np.asarray(v, np.float64)
    out = np.zeros((q.shape[0], v.shape[1]))
    for r in range(q.shape[0]):
        senders = [s for receiver, s in edges if receiver == r]
        scores = np.array([float(q[r] @ k[s]) / math.sqrt(q.shape[1]) for s in senders])
        weights = _softmax_over(scores, range(len(senders)))
        for weight, s in zip(weights, senders, strict=True):
            out[r] += weight * v[s]
    return out


def linear_attention(q_features: Array, k_features: Array, values: Array, allowed: Bools) -> Array:
    """sum_k a (phi_q·phi_k) v_k / sum_k a (phi_q·phi_k), a = 1 where allowed, else 0."""
    similar = dot(q_features, k_features)
    allowed = np.broadcast_to(allowed, similar.shape)
    values = np.asarray(values, np.float64)
    out = np.zeros((*similar.shape[:3], values.shape[3]))
    for b, h, i in np.ndindex(similar.shape[:3]):
        places = [j for j in range(similar.shape[3]) if allowed[b, h, i, j]]
        total = sum(float(similar[b, h, i, j]) for j in places)
        for j in places:
            if total != 0:
                out[b, h, i] += similar[b, h, i, j] / total * values[b, h, j]
    return out
