import type { AssistantMessage, Message } from '../../agent/messages.ts'
import { withoutImageBytes } from '../../agent/tool-images.ts'

/** Limit of the provider data of one turn in the session, in characters of JSON. Beyond it, the oldest data is dropped. */
export const maxVendorCharacters = 256 * 1024

/**
 * The transcript of a turn as the session stores it, without the question, which is stored separately; undefined for a plain answer, whose
 * text says all. Reasoning matters only within a run. Data of the provider is kept: later requests must repeat it.
 *
 * Data of old turns is not dropped by age. The window drops whole turns in large steps; data that went one question after the other would
 * change the beginning of every prompt, and no prompt cache would be hit.
 */
export function toStoredTranscript(messages: readonly Message[]): Message[] | undefined {
  const [, ...answer] = messages
  const vendors = vendorsToKeep(answer)
  if (answer.length < 2 && vendors.size === 0) return undefined
  return answer.map((message) => toStored(message, vendors))
}

function toStored(message: Message, vendors: ReadonlySet<AssistantMessage['vendor']>): Message {
  if (message.role !== 'assistant') return withoutImageBytes(message)
  const { role, text, toolCalls, vendor } = message
  return vendor && vendors.has(vendor) ? { role, text, toolCalls, vendor } : { role, text, toolCalls }
}

/** The newest data that fits into the limit. Data is kept whole or not at all. */
function vendorsToKeep(messages: readonly Message[]): Set<AssistantMessage['vendor']> {
  const vendors = messages.flatMap((message) => (message.role === 'assistant' && message.vendor ? [message.vendor] : []))
  let characters = 0
  const tooOld = vendors.findLastIndex((vendor) => (characters += JSON.stringify(vendor).length) > maxVendorCharacters)
  return new Set(vendors.slice(tooOld + 1))
}
