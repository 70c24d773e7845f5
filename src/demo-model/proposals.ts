import { readWords, setOf } from './language/words.ts'
import type { Order } from './orders.ts'

/** Questions before a call that changes something, and the answers to them. */

const asks = 'Shall I run'
const which = 'Which one do you mean'
const needs = 'Please tell me the'

/** The question before a call that was not ordered plainly. */
export function proposalOf({ tool, input, missing, choices = [] }: Pick<Order, 'tool' | 'input' | 'missing' | 'choices'>): string {
  if (choices.length > 0) return `${which}: ${choices.join(' or ')}?`
  if (missing.length > 0)
    return `${needs} ${missing.map((name) => name.replaceAll('_', ' ')).join(' and the ')}: \`${tool.name}\` needs it.`
  const parts = Object.entries(input).map(([name, value]) => `${name} ${typeof value === 'string' ? `“${value}”` : JSON.stringify(value)}`)
  return `${asks} \`${tool.name}\`${parts.length > 0 ? ` with ${parts.join(', ')}` : ''}? Please answer yes or no.`
}

/** True for an answer that asked whether to make a call. */
export function isProposal(answer: string): boolean {
  return answer.startsWith(asks)
}

/** True for an answer that asked for input. */
export function asksForMore(answer: string): boolean {
  return answer.startsWith(needs) || answer.startsWith(which)
}

const consents = /^(?:y|yes|yep|yeah|sure|ok|okay|do|go|please do|confirm|confirmed|correct|of course|run|i confirm|all right|alright)\b/
const consenting = setOf(
  'y yes yep yeah sure ok okay do it that go ahead on for please confirm confirmed correct of course run i am is right all alright',
)
const refusals =
  /^(?:n|no|nope|stop|cancel|do not|don't|never mind|forget it|leave it)(?: (?:thanks|thank you|do not|don't|stop|never mind|forget it|leave it))*$/

/** True for a plain yes, false for a plain no, undefined for anything else. */
export function readConsent(text: string): boolean | undefined {
  if (text.length > 40 || text.includes('?')) return undefined
  const words = readWords(text).map(({ lower }) => lower)
  if (refusals.test(words.join(' '))) return false
  return consents.test(words.join(' ')) && words.every((word) => consenting.has(word)) ? true : undefined
}
