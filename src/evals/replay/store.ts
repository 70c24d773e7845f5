import type { Decision } from '../../agent/approval.ts'
import type { Image } from '../../agent/messages.ts'
import { imageKey } from '../../runs/attachments/result-images.ts'
import type { Checkpoint, EndedRun, ExecutionStore, HistoryMessage, MediaPlace } from '../../runs/run-store.ts'
import type { WaitingMessage } from '../../runs/steering/run-messages.ts'
import type { Example } from '../example.ts'

/** Bytes by their SHA-256 hash, as base64; undefined for bytes that are not there any more. */
export type ReadMedia = (sha256: string) => Promise<string | undefined>

interface ReplayStoreOptions {
  example: Example
  /** The request id of the replay. */
  requestId: string
  /** The messages of the session: those before the question, and the question. */
  history: readonly HistoryMessage[]
  readMedia: ReadMedia
  takeMessages(): WaitingMessage[]
}

/** Keeps the state of one replay in memory, in place of the store of runs: nothing of a replay reaches a session, a run list or a job. */
export class ReplayStore implements ExecutionStore {
  ended: EndedRun | undefined
  private readonly options: ReplayStoreOptions
  private readonly steps: Checkpoint[] = []
  private readonly decided = new Map<string, Decision>()
  /** Pictures of tool results of this replay. */
  private readonly pictures = new Map<string, string>()

  constructor(options: ReplayStoreOptions) {
    this.options = options
  }

  decide(callId: string, decision: Decision): void {
    this.decided.set(callId, decision)
  }

  isDecided(callId: string): boolean {
    return this.decided.has(callId)
  }

  readonly historyOfRun: ExecutionStore['historyOfRun'] = async (_tenant, _session, firstIndex, limit = Infinity) =>
    this.options.history.slice(firstIndex, firstIndex + limit)

  readonly checkpoint: ExecutionStore['checkpoint'] = async (_key, _fence, _step, data) => void this.steps.push(structuredClone(data))

  readonly checkpoints: ExecutionStore['checkpoints'] = async () => structuredClone(this.steps)

  readonly interrupt: ExecutionStore['interrupt'] = async (_key, _fence, { data }) => void this.steps.push(structuredClone(data))

  readonly decisions: ExecutionStore['decisions'] = async () => new Map(this.decided)

  readonly startApproved: ExecutionStore['startApproved'] = async (_key, _fence, callId) => {
    const decision = this.decided.get(callId)
    if (decision?.decision === 'approve') this.decided.set(callId, { ...decision, isStarted: true })
  }

  readonly finish: ExecutionStore['finish'] = async (_key, _fence, ended) => {
    this.ended = ended
    return undefined
  }

  readonly openMessages: ExecutionStore['openMessages'] = async () => this.options.takeMessages()

  readonly keepResultImages: ExecutionStore['keepResultImages'] = async (_key, _fence, _session, images) => {
    for (const image of images) this.pictures.set(imageKey(image), image.data)
  }

  readonly images: ExecutionStore['images'] = async (_tenant, _session, requestIds) => {
    const { example, readMedia } = this.options
    const images = new Map<string, Image[]>()
    for (const requestId of requestIds) {
      const references = example.media?.images[this.nameOf(requestId)] ?? []
      const pictures = await Promise.all(
        references.map(async ({ mediaType, sha256 }) => ({ mediaType, data: (await readMedia(sha256)) ?? '' })),
      )
      images.set(
        requestId,
        pictures.filter(({ data }) => data !== ''),
      )
    }
    return images
  }

  readonly mediaBytes: ExecutionStore['mediaBytes'] = async (_tenant, _session, places: readonly MediaPlace[]) => {
    const { example, readMedia } = this.options
    const bytes = new Map<string, string>()
    for (const place of places) {
      const key = imageKey(place)
      const sha256 = example.media?.files[imageKey({ requestId: this.nameOf(place.requestId), n: place.n })]
      const data = this.pictures.get(key) ?? (sha256 === undefined ? undefined : await readMedia(sha256))
      if (data !== undefined) bytes.set(key, data)
    }
    return bytes
  }

  /** The request id in the media of the example. */
  private nameOf(requestId: string): string {
    return requestId === this.options.requestId ? '' : requestId
  }
}
