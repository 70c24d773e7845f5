import { Lexer } from 'yaml'
import { problemAt, type ConfigProblem } from '../problems.ts'
import type { ConfigData } from './merge.ts'

/** Limits far above real configurations. A larger configuration would be compared and written for minutes and block the process. */
const maxValues = 5000
const maxCharacters = 1_000_000
/** A value of a block takes 9 tokens. Parsing takes some 10 µs for each. */
const maxTokens = 60_000

/** Checks the size of a YAML text before it is parsed. */
export function findTooLargeText(text: string): ConfigProblem | undefined {
  if (text.length > maxCharacters) return problemAt([], `has more than ${maxCharacters} characters`)
  let tokens = 0
  for (const _ of new Lexer().lex(text)) if (++tokens > maxTokens) return problemAt([], `has more than ${maxTokens} YAML tokens`)
  return undefined
}

/** Checks the size of data without cycles. */
export function findTooLarge(data: ConfigData): ConfigProblem[] {
  const pending: unknown[] = [data]
  let characters = 0
  for (let values = 0; pending.length > 0; values++) {
    if (values + pending.length > maxValues) return [problemAt([], `has more than ${maxValues} values`)]
    const value = pending.pop()
    if (typeof value === 'string') characters += value.length
    else if (typeof value === 'object' && value !== null) {
      const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
      if (pending.length + inner.length > maxValues) return [problemAt([], `has more than ${maxValues} values`)]
      pending.push(...inner)
      if (!Array.isArray(value)) for (const key of Object.keys(value)) characters += key.length
    }
    if (characters > maxCharacters) return [problemAt([], `has more than ${maxCharacters} characters`)]
  }
  return []
}
