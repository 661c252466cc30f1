// The generated module beside this file (`npm run definitions`): see scripts/generate-thread.mjs.

/** The program of a thread, as one CommonJS text. */
export declare const text: string;
