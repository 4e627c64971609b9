extension PostgreSQLOptions {
    /// Settings of a session whose statements find their rows by index, whatever the statistics of a
    /// table say that has just been filled; each is planned once.
    package static let indexedPlans = [
        "enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
        "enable_bitmapscan": "off", "plan_cache_mode": "force_generic_plan", "jit": "off",
    ]
}
