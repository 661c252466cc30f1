/** How many resources a step of long work looks at: about a millisecond. */
export const STEP = 256;
