import { expandBraces, GlobError } from './glob-braces.ts'
import { problemAt, type ConfigProblem, type Path } from './problems.ts'

/** The limit of patterns of all tools: each pattern is compared with each file whenever a tool lists files. */
const maxPatterns = 5000

/**
 * Checks the glob patterns of a tool: `paths`, and `tables` of `data_query`. Create one check per configuration: the expanded patterns of
 * all checked tools count towards one limit.
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
    return total > maxPatterns ? [problemAt(at, `exceeds the limit of ${maxPatterns} patterns for all tools together`)] : []
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

/** True if a table is a pattern. A table without wildcards is a single file. */
export function isGlob(pattern: string): boolean {
  return /[*?[{]/.test(pattern)
}
