"""What reads files of strangers, each as a function of bytes: a coverage-guided fuzzer or a plain one drives it."""
