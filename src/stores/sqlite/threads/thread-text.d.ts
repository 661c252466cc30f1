// The generated module beside this file (`npm run definitions`): see scripts/generate-thread.mjs.

/** The program of a thread: one CommonJS text, compressed by Brotli, in base64. */
export declare const packed: string;
