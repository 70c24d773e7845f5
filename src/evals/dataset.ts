import type { JsonObject } from '../agent/messages.ts'
import type { Scorer } from './scorers/scorer.ts'

/** Examples of what the agent is asked, kept by a tenant. Each change of the examples makes a new revision, and earlier revisions stay readable. */
export interface Dataset {
  tenant: string
  /** UUIDv7. */
  id: string
  /** Unique within the tenant. */
  name: string
  description: string
  /** What experiments on the dataset measure, unless the experiment says otherwise. */
  scorers: readonly Scorer[]
  /** `scores`: administrators may run experiments on the dataset and read counts and scores, nothing else. */
  share: 'none' | 'scores'
  /** From 0 for an empty dataset. */
  revision: number
  createdAt: number
  updatedAt: number
}

export interface ListedDataset extends Dataset {
  /** Number of examples of the current revision. */
  examples: number
}

/** The run that an example was made from. */
export interface ExampleSource {
  requestId: string
  owner: string
  configVersion: string | undefined
}

export interface StoredExample {
  /** UUIDv7, the same in each revision. */
  id: string
  /** The revision of the dataset that brought this form of the example. */
  revision: number
  name: string
  tags: readonly string[]
  /** Undefined for an example written by hand, and a detached one. */
  source: ExampleSource | undefined
  /** Key of the session that takes the example with it when deleted; undefined: none does. */
  session: string | undefined
  /** Question, recording and expectation; see `Example`. */
  content: JsonObject
  createdAt: number
}

/** An example as a list shows the example: without its content. */
export interface ListedExample extends Omit<StoredExample, 'content'> {
  question: string
  /** Number of recorded calls, and of those that write. */
  calls: number
  writes: number
  isReduced: boolean
}

/** Bytes of an image or file, as base64, named by their SHA-256 in hex. */
export interface ExampleMedia {
  hash: string
  mediaType: string
  data: string
}
