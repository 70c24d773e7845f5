import type { ModelOptions } from '../src/agent/model.ts'
import { countTokens } from './tokens.ts'

/** Cuts an answer before the first stop text, then behind the last word within the tokens. `isCut`: the tokens were used up. */
export function limitText(text: string, { stop = [], maxOutputTokens }: ModelOptions = {}): { text: string; isCut: boolean } {
  const ends = stop.flatMap((end) => (end !== '' && text.includes(end) ? [text.indexOf(end)] : []))
  const stopped = ends.length > 0 ? text.slice(0, Math.min(...ends)) : text
  if (maxOutputTokens === undefined || countTokens(stopped) <= maxOutputTokens) return { text: stopped, isCut: false }
  let kept = ''
  let tokens = 0
  for (const word of stopped.match(/\S+\s*/g) ?? []) {
    tokens += countTokens(word)
    if (tokens > maxOutputTokens) break
    kept += word
  }
  return { text: kept.trimEnd(), isCut: true }
}
