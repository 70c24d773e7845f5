import { toContent, type ConfigContent } from './change/change.ts'
import type { ConfigData } from './change/merge.ts'
import { ConfigError } from './problems.ts'
import { readYaml } from './yaml-source.ts'

/** The text of a configuration with the parsed content. */
export interface ConfigurationSource extends ConfigContent {
  readonly text: string
}

/** Parses a text. Throws `ConfigError` with lines. */
export function parseSource(text: string): ConfigurationSource {
  const { value, lineOf } = readYaml(text)
  try {
    return { ...toContent(value as ConfigData), text }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(error.problems.map((problem) => ({ ...problem, line: lineOf(problem.at) })))
  }
}

/** Parses an edit of the file. An empty text is refused: editors truncate a file before writing, and an empty text would mean all defaults. */
export function parseEdit(text: string): ConfigurationSource {
  if (text.trim() === '') throw new ConfigError([{ path: '', at: [], message: 'is empty' }])
  return parseSource(text)
}
