import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** Where the repository begins. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What the compiler finds wrong, and where. */
export interface CompileError {
  /** Path of the file below the repository's root. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly message: string;
}

/**
 * Adds texts to the program as if they were files of the repository, by its own configuration. They may import each other,
 * the package by its public name, and whatever is installed; what they declare and do not go on to use is not an error.
 *
 * All that is added before a test asks is one program, as its checker is what takes long.
 *
 * @param texts by path below the repository's root, in folders that exist
 * @returns finds what is wrong in these files, in their order
 */
export function toCompile(texts: ReadonlyMap<string, string>): () => CompileError[] {
  const paths = [...texts.keys()].map((path) => join(ROOT, path));
  for (const [path, text] of texts) added.set(join(ROOT, path), text);
  program = undefined;
  return () => paths.flatMap((path) => errorsOf(programOfAll(), path));
}

/** A program with files of the repository, and the texts that were added. */
export function programOf(files: readonly string[]): () => ts.Program {
  for (const file of files) roots.add(file);
  program = undefined;
  return programOfAll;
}

/** Gives the memory of the program back. */
export function forgetProgram(): void {
  program = undefined;
  added.clear();
  roots.clear();
}

const added = new Map<string, string>();
const roots = new Set<string>();
let program: ts.Program | undefined;

function programOfAll(): ts.Program {
  if (program === undefined) {
    const options = ownOptions();
    program = ts.createProgram([...roots, ...added.keys()], options, hostWith(added, options));
  }
  return program;
}

function ownOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return {
    ...options,
    noUnusedLocals: false,
    noUnusedParameters: false,
    moduleDetection: ts.ModuleDetectionKind.Force,
    // A text may be a declaration file. Only the texts are checked, so this asks nothing of those installed.
    skipLibCheck: false,
  };
}

function hostWith(files: ReadonlyMap<string, string>, options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists.call(host, path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = files.get(path);
    return text === undefined
      ? getSourceFile.call(host, path, version, ...rest)
      : ts.createSourceFile(path, text, version, true);
  };
  return host;
}

function errorsOf(program: ts.Program, path: string): CompileError[] {
  const source = program.getSourceFile(path)!;
  const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  return found.map((diagnostic) => ({
    file: relative(ROOT, path),
    line: source.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line + 1,
    message: ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'),
  }));
}
