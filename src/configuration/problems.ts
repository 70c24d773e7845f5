export type Path = readonly (string | number)[]

export interface ConfigProblem {
  /** `tools[2].config.paths`; empty for the whole. */
  path: string
  /** The same, part by part. */
  at: Path
  /** What it was and what it may be; never a secret. */
  message: string
  /** In the text that was read, from 1. */
  line?: number
}

/** A configuration with faults: all of them at once. */
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

/** `['tools', 2, 'config']` as `tools[2].config`; what is not a plain word stands in brackets and quotes. */
export function formatPath(at: Path): string {
  return at.reduce<string>((path, part) => {
    if (typeof part === 'number') return `${path}[${part}]`
    if (!/^[A-Za-z_][\w-]*$/.test(part)) return `${path}[${JSON.stringify(part)}]`
    return path ? `${path}.${part}` : part
  }, '')
}
