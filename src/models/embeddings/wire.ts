import { type Embedder, ModelError } from '../../agent/model.ts'
import type { Connections } from '../connections.ts'
import { toTokenCount } from '../usage.ts'
import { maxErrorBytes, toConnectionError, toStatusError, type Origin } from '../failures.ts'

export interface WireEmbedderOptions {
  name: string
  model: string
  /** Address of the endpoint, including its query. */
  url: URL
  /** Headers with lower-case names. */
  headers: Readonly<Record<string, string>>
  connectMs: number
  /** Time limit for the complete answer, in milliseconds. */
  limitMs: number
  origin: Origin
  connections: Connections
}

/** Limit of a response, well above the size of a hundred long vectors. */
const maxBytes = 32 * 1024 * 1024

/** Creates an `Embedder` on OpenAI's API: `POST /embeddings`. */
export function createWireEmbedder({ name, model, url, headers, connectMs, limitMs, origin, connections }: WireEmbedderOptions): Embedder {
  const path = url.pathname + url.search

  async function post(body: string, signal: AbortSignal): Promise<string> {
    const pool = await connections.pool(url.origin, connectMs)
    const all = { 'content-type': 'application/json', ...headers }
    const {
      statusCode: status,
      headers: responseHeaders,
      body: answer,
    } = await pool.request({ method: 'POST', path, headers: all, body, signal })
    const isFine = status === 200
    let text = ''
    answer.setEncoding('utf8')
    for await (const piece of answer) {
      text += piece
      if (text.length > (isFine ? maxBytes : maxErrorBytes)) break
    }
    if (!isFine) throw toStatusError(origin, { status, headers: responseHeaders, body: text, now: Date.now() })
    return text
  }

  return {
    name,
    async embed(texts, signal, { dimensions, onTokens } = {}) {
      try {
        const body = JSON.stringify({ model, input: texts, dimensions })
        const reply = parse(await post(body, AbortSignal.any([signal, AbortSignal.timeout(limitMs)])))
        const vectors = toVectors(reply, texts.length, origin)
        onTokens?.(toTokenCount(reply.usage?.prompt_tokens))
        return vectors
      } catch (error) {
        signal.throwIfAborted()
        throw error instanceof ModelError ? error : toConnectionError(origin, error, false)
      }
    },
  }
}

function toVectors({ data }: Reply, count: number, origin: Origin): number[][] {
  const list: Embedding[] = Array.isArray(data) ? data : []
  const vectors = list.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0)).map(({ embedding }) => embedding)
  if (!areVectors(vectors, count)) throw new ModelError('unavailable', `${origin.label} returned no vectors, or a wrong number of vectors`)
  return vectors
}

interface Embedding {
  index?: number
  embedding?: unknown
}

interface Reply {
  data?: unknown
  usage?: { prompt_tokens?: number } | null
}

function parse(text: string): Reply {
  try {
    return (JSON.parse(text) as Reply | null) ?? {}
  } catch {
    return {}
  }
}

/** True if there is a vector for each text, and all vectors have the same length. */
export function areVectors(vectors: readonly unknown[], count: number): vectors is number[][] {
  const [first] = vectors
  const length = Array.isArray(first) ? first.length : 0
  const isVector = (vector: unknown) => Array.isArray(vector) && vector.length === length && vector.every((value) => Number.isFinite(value))
  return vectors.length === count && length > 0 && vectors.every(isVector)
}
