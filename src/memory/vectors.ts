import type { Embedder } from '../agent/embedder.ts'
import type { Vector } from './memory.ts'

/**
 * Unit vectors, so that their dot product is the cosine of the angle between them. A text in a language that the embedder does not know gets
 * an empty vector, which is like no other.
 */
export async function toVectors(embedder: Embedder, texts: readonly string[], signal: AbortSignal): Promise<Vector[]> {
  const isKnown = (text: string) => embedder.knows?.(text) !== false
  const known = texts.filter(isKnown)
  const lists = known.length > 0 ? await embedder.embed(known, signal) : []
  const values = lists.values()
  return texts.map((text) => {
    const list = isKnown(text) ? (values.next().value ?? []) : []
    return { model: embedder.name, values: normalise(Float32Array.from(list)) }
  })
}

function normalise(values: Float32Array): Float32Array {
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
  return length > 0 && Number.isFinite(length) ? values.map((value) => value / length) : values
}

/** From -1 to 1; 0 for vectors of different embedders. */
export function cosine(a: Vector, b: Vector): number {
  if (a.model !== b.model || a.values.length !== b.values.length) return 0
  let sum = 0
  for (let at = 0; at < a.values.length; at++) sum += a.values[at]! * b.values[at]!
  return sum
}
