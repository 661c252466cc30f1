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
 * Compiles texts as if they were files of the repository, by its own configuration. They may import each other, the
 * package by its public name, and whatever is installed; what they declare and do not go on to use is not an error.
 *
 * @param texts by path below the repository's root, in folders that exist
 * @returns what is wrong in these files, in their order
 */
export function compile(texts: ReadonlyMap<string, string>): CompileError[] {
  const compilerOptions = (options ??= ownOptions());
  const files = new Map([...texts].map(([path, text]) => [join(ROOT, path), text]));
  program = ts.createProgram([...files.keys()], compilerOptions, hostWith(files, compilerOptions), program);
  const compiled = program;
  return [...files.keys()].flatMap((path) => errorsOf(compiled, path));
}

/** The program before, whose files need no second parsing. */
let program: ts.Program | undefined;
let options: ts.CompilerOptions | undefined;
/** Files of the disk, which stay as they are while tests run. */
const parsed = new Map<string, ts.SourceFile | undefined>();

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
    if (text !== undefined) return ts.createSourceFile(path, text, version, true);
    if (!parsed.has(path)) parsed.set(path, getSourceFile.call(host, path, version, ...rest));
    return parsed.get(path);
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
