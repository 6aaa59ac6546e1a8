#pragma once

/* Waits about so many milliseconds (by up to a quarter more or less), before another try. */
void pause_ms(int ms);

/* The same after a failure, and no less than it says that it takes (retry_ms). */
struct kndl_error;
void pause_after(const struct kndl_error *cause, int ms);
