import { toContent, type ConfigContent } from './change/change.ts'
import type { ConfigData } from './change/merge.ts'
import { ConfigError } from './problems.ts'
import { readYaml } from './yaml-source.ts'

/** A configuration as it is written: the text, and what it says. */
export interface ConfigurationSource extends ConfigContent {
  readonly text: string
}

/** Throws `ConfigError`, with lines. */
export function parseSource(text: string): ConfigurationSource {
  const { value, lineOf } = readYaml(text)
  try {
    return { ...toContent(value as ConfigData), text }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(error.problems.map((problem) => ({ ...problem, line: lineOf(problem.at) })))
  }
}

/** The same for what somebody wrote by hand. A file that is just being written is empty for a moment; it would stand for all defaults. */
export function parseEdit(text: string): ConfigurationSource {
  if (text.trim() === '') throw new ConfigError([{ path: '', at: [], message: 'is empty' }])
  return parseSource(text)
}
