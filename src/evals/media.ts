import { createHash } from 'node:crypto'
import type { Artifact, Image } from '../agent/messages.ts'
import { imageKey, newestImages } from '../runs/attachments/result-images.ts'
import { newestFiles } from '../runs/attachments/window-media.ts'
import type { HistoryMessage, MediaPlace, RunStore } from '../runs/run-store.ts'
import type { DatasetStore } from './dataset-store.ts'
import type { ExampleMedia as StoredMedia } from './dataset.ts'
import type { Example, ExampleMedia } from './example.ts'
import type { RecordedRun } from './from-run.ts'
import type { ReadMedia } from './replay/store.ts'

/** Bytes of all images and files of an example: as many as a question and the turns before may bring. */
export const maxMediaBytes = 20_000_000

/** Where the bytes of a run are. */
export interface MediaPorts extends Pick<RunStore, 'images' | 'mediaBytes'> {
  /** The bytes of a file of a tool, in the folder of the session; undefined when they are gone. */
  readArtifact(folder: string, artifact: Artifact): Promise<Uint8Array | undefined>
}

/**
 * Copies the images and files that the model was shown: first those of the question, then pictures of tools, then those of earlier turns. The
 * example is `reduced` where bytes are gone, or where there are more than `maxMediaBytes`.
 */
export async function withMedia(
  example: Example,
  { run: { tenant, session, requestId } }: RecordedRun,
  ports: MediaPorts,
): Promise<{ example: Example; media: StoredMedia[] }> {
  const copy = new MediaCopy()
  const { questions, files, results } = shownBefore(example)
  if (session === undefined) return { example, media: [] }
  const inRun = ({ requestId: id, n }: MediaPlace) => ({ requestId: id || requestId, n })
  const ids = [...questions.keys()].map((id) => id || requestId)
  const images = ids.length > 0 ? await ports.images(tenant, session, ids) : new Map<string, Image[]>()
  const places = [...files, ...results].map(inRun)
  const bytes = places.length > 0 ? await ports.mediaBytes(tenant, session, places) : new Map<string, string>()
  const addImages = (id: string, count: number) => copy.addImages(id, images.get(id || requestId) ?? [], count)
  const addFile = (place: MediaPlace, mediaType: string) => copy.addFile(imageKey(place), mediaType, bytes.get(imageKey(inRun(place))))
  const own = questions.get('')
  if (own) addImages('', own)
  for (const place of files) if (!place.isEarlier) addFile(place, place.file.mediaType)
  for (const { pictures = [], artifacts = [] } of example.recording)
    for (const artifact of artifacts)
      if (pictures.includes(artifact.name)) await copy.addPicture(artifact, () => ports.readArtifact(session, artifact))
  for (const [id, count] of questions) if (id !== '') addImages(id, count)
  for (const place of files) if (place.isEarlier) addFile(place, place.file.mediaType)
  for (const image of results) addFile(image, image.mediaType)
  return copy.addTo(example)
}

/** The images and files before the answer that a model may be shown, as a run selects them for a model that reads everything. */
function shownBefore({ before, input }: Example) {
  const messages = before.filter((entry) => entry.kind === 'message')
  const history = messages.map((message, idx): HistoryMessage => ({ idx, data: undefined, ...message }))
  const { questions, results } = newestImages({ requestId: '', images: input.images?.length ?? 0 }, history)
  const request = { files: input.files ?? [], filters: input.data_filter_hints }
  const files = newestFiles({ key: { requestId: '' }, request, agent: { model: { readsFiles: () => true } } }, history, 0)
  return { questions, results, files }
}

class MediaCopy {
  private readonly references: ExampleMedia = { images: {}, files: {} }
  private readonly copies = new Map<string, StoredMedia>()
  private remaining = maxMediaBytes
  private isReduced = false

  /** The images of a question up to the first that is missing: the model is shown each under its name. */
  addImages(requestId: string, images: readonly Image[], count: number): void {
    const copied: { mediaType: string; sha256: string }[] = []
    for (const { mediaType, data } of images.slice(0, count)) {
      const sha256 = this.add(mediaType, data)
      if (sha256 === undefined) break
      copied.push({ mediaType, sha256 })
    }
    if (copied.length < count) this.isReduced = true
    this.references.images[requestId] = copied
  }

  addFile(key: string, mediaType: string, data: string | undefined): void {
    const sha256 = data === undefined ? undefined : this.add(mediaType, data)
    if (sha256 === undefined) this.isReduced = true
    else this.references.files[key] = sha256
  }

  async addPicture({ size, type, sha256 }: Artifact, read: () => Promise<Uint8Array | undefined>): Promise<void> {
    const bytes = this.copies.has(sha256) || size > this.remaining ? undefined : await read()
    if (bytes) this.add(type, Buffer.from(bytes).toString('base64'), sha256)
    if (!this.copies.has(sha256)) this.isReduced = true
  }

  addTo(example: Example): { example: Example; media: StoredMedia[] } {
    const media = [...this.copies.values()]
    const parts = { ...(media.length > 0 && { media: this.references }), ...(this.isReduced && { reduced: true as const }) }
    return { example: { ...example, ...parts }, media }
  }

  /** The name of the copied bytes; undefined where the example has no room for them. */
  private add(mediaType: string, data: string, sha256 = createHash('sha256').update(data, 'base64').digest('hex')): string | undefined {
    if (this.copies.has(sha256)) return sha256
    const size = Buffer.byteLength(data, 'base64')
    if (size > this.remaining) return undefined
    this.remaining -= size
    this.copies.set(sha256, { hash: sha256, mediaType, data })
    return sha256
  }
}

/** Reads the media of a stored example, all at the first call. */
export function createReadMedia(
  store: Pick<DatasetStore, 'media'>,
  { tenant, dataset, example }: { tenant: string; dataset: string; example: string },
): ReadMedia {
  let reading: Promise<Map<string, string>> | undefined
  const read = async () => new Map((await store.media(tenant, dataset, example)).map(({ hash, data }) => [hash, data]))
  return async (sha256) => (await (reading ??= read())).get(sha256)
}
