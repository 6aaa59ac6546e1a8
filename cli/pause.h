#pragma once

/* Waits about so many milliseconds (by up to a quarter more or less), before another try. */
void pause_ms(int ms);
