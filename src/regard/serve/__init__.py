"""Answers over HTTP: one bounded queue, processes that decode, limits on everything.

A request goes front.py (ids, headers, errors) -> app.py (which path) -> libre.py or v1.py (what is asked) -> queue.py
(waits, is put together with others) -> crew.py -> a worker process (worker.py), and back. The server's own process
never imports torch: workers are forked by nursery.py, which has loaded the models.
"""
