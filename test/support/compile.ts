import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The root of the repository. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** An error of the compiler, and its location. */
export interface CompileError {
  /** Path of the file below the repository's root. */
  readonly file: string;
  /** Line, counted from 1. */
  readonly line: number;
  readonly message: string;
}

/**
 * Adds texts to the program as if they were files of the repository, with its own configuration. They can import each other,
 * the package by its public name, and any installed package. An unused declaration in them is not an error.
 *
 * All texts that are added before a test asks are one program, because its checker takes most of the time.
 *
 * @param texts by path below the repository's root, in folders that exist
 * @returns a function that finds the errors in these files, in their order
 */
export function toCompile(texts: ReadonlyMap<string, string>): () => CompileError[] {
  const paths = [...texts.keys()].map((path) => join(ROOT, path));
  for (const [path, text] of texts) added.set(join(ROOT, path), text);
  program = undefined;
  return () => paths.flatMap((path) => errorsOf(programOfAll(), path));
}

/** A program with files of the repository and the added texts. */
export function programOf(files: readonly string[]): () => ts.Program {
  for (const file of files) roots.add(file);
  program = undefined;
  return programOfAll;
}

/** Releases the memory of the program. */
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
    // A text can be a declaration file. Only the texts are checked, not the installed declarations.
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
