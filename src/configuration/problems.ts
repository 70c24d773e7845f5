export type Path = readonly (string | number)[]

export interface ConfigProblem {
  /** For example `tools[2].config.paths`; empty for the whole configuration. */
  path: string
  /** The parts of `path`. */
  at: Path
  /** The rule and the wrong value, without secrets. A predicate whose subject is the path. */
  message: string
  /** The line in the parsed text, from 1. */
  line?: number
}

/** An invalid configuration, with all problems. */
export class ConfigError extends Error {
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    super(problems.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export function problemAt(at: Path, message: string): ConfigProblem {
  return { path: formatPath(at), at, message }
}

/** Formats `['tools', 2, 'config']` as `tools[2].config`. Keys other than plain words are put in brackets and quotes. */
export function formatPath(at: Path): string {
  return at.reduce<string>((path, part) => {
    if (typeof part === 'number') return `${path}[${part}]`
    if (!/^[A-Za-z_][\w-]*$/.test(part)) return `${path}[${JSON.stringify(part)}]`
    return path ? `${path}.${part}` : part
  }, '')
}
