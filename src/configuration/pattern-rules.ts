import { expandBraces, GlobError } from './glob-braces.ts'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'

/** Patterns that all tools together may look for: each is compared with each file, whenever a tool looks at its files. */
const maxPatterns = 5000

/**
 * Checks the glob patterns of one tool after the other: `paths`, and `tables` of `data_query`. What they stand for is counted over all tools of
 * a configuration.
 */
export function createPatternCheck(): (config: Readonly<Record<string, unknown>>, at: Path) => ConfigProblem[] {
  let total = 0

  function checkOne(pattern: string, at: Path): ConfigProblem[] {
    if (total > maxPatterns) return []
    try {
      total += expandBraces(pattern).length
    } catch (error) {
      if (error instanceof GlobError) return [problemAt(at, error.message)]
      throw error
    }
    return total > maxPatterns ? [problemAt(at, `is one too many: the tools have more than ${maxPatterns} patterns`)] : []
  }

  return ({ paths, tables }, at) => [
    ...textsOf(paths).flatMap(([key, pattern]) => checkOne(pattern, [...at, 'paths', key])),
    ...textsOf(tables).flatMap(([key, pattern]) => (isGlob(pattern) ? checkOne(pattern, [...at, 'tables', key]) : [])),
  ]
}

function textsOf(value: unknown): [string | number, string][] {
  const entries: (readonly [string | number, unknown])[] = Array.isArray(value) ? [...value.entries()] : Object.entries(value ?? {})
  return entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : []))
}

/** A table without these signs is one file. */
export function isGlob(pattern: string): boolean {
  return /[*?[{]/.test(pattern)
}
