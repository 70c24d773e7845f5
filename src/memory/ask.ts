import type { Static, TSchema } from 'typebox'
import { ignoreEvents, type Model } from '../agent/model.ts'
import { createAjv } from '../json/schema/ajv.ts'

interface Question<T extends TSchema> {
  system: string
  text: string
  /** JSON Schema of one list element. */
  item: T
}

/** Time limit of a model call; such calls run in the background. */
const limitMs = 120_000
const ajv = createAjv('tolerant')
/** Start positions tried in an answer that holds more than the list. */
const maxStarts = 8

/**
 * Asks a model for a JSON list. Elements that do not fit the schema are dropped; undefined when the answer has no list.
 * Throws the errors of the model.
 */
export async function askForList<T extends TSchema>(
  model: Model,
  { system, text, item }: Question<T>,
  signal: AbortSignal,
): Promise<Static<T>[] | undefined> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(limitMs)])
  const reply = await model.reply({ system, messages: [{ role: 'user', text }], tools: [] }, ignoreEvents, limited)
  const fits = ajv.compile(item)
  return findList(reply.text)?.filter((element): element is Static<T> => fits(element))
}

/** Models often put text around the list. */
function findList(text: string): unknown[] | undefined {
  const end = text.lastIndexOf(']') + 1
  let start = text.indexOf('[')
  for (let tries = 0; start >= 0 && start < end && tries < maxStarts; tries++) {
    const list = parseList(text.slice(start, end))
    if (list) return list
    start = text.indexOf('[', start + 1)
  }
  return undefined
}

function parseList(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
