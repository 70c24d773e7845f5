import type { Artifact } from './artifact.ts'
import type { LoopOptions } from './options.ts'
import type { ModelFile, ModelReply, ModelSource } from './model.ts'

/** Sources of one reply that are kept. */
const maxSources = 50
const maxTitle = 300
const maxQuote = 2000
const maxUrl = 2048
/** Files of one reply that are kept. */
const maxFiles = 16

/** The sources of a reply within limits, with places in its text; undefined for none. A source without address and title says nothing. */
export function toSources({ sources = [], text }: Pick<ModelReply, 'sources' | 'text'>): ModelSource[] | undefined {
  const limited = sources.slice(0, maxSources).map((source) => toSource(source, text.length))
  const useful = limited.filter(({ url, title }) => url !== undefined || title !== '')
  return useful.length > 0 ? useful : undefined
}

function toSource({ url, title, text, start, end }: ModelSource, length: number): ModelSource {
  const range = start !== undefined && end !== undefined && start >= 0 && start < end && end <= length ? { start, end } : {}
  return {
    ...(isWebAddress(url) && { url }),
    title: shorten(title, maxTitle),
    ...(text !== undefined && text !== '' && { text: shorten(text, maxQuote) }),
    ...range,
  }
}

/** Clients make links of addresses, so no other scheme may pass. */
function isWebAddress(url: string | undefined): url is string {
  if (url === undefined || url.length > maxUrl) return false
  const protocol = URL.parse(url)?.protocol
  return protocol === 'https:' || protocol === 'http:'
}

function shorten(text: string, max: number): string {
  return text.slice(0, max).toWellFormed()
}

export interface ReplyFiles {
  artifacts: Artifact[]
  /** Why files are missing, a line for each. */
  faults: string[]
}

/** Keeps the files of a reply as artifacts, in order. Names count on from the earlier replies of the run. */
export async function keepFiles({ files = [], usage }: ModelReply, { keepArtifact, messages, signal }: LoopOptions): Promise<ReplyFiles> {
  const result: ReplyFiles = { artifacts: [], faults: [] }
  let n = messages.reduce((count, message) => count + (message.role === 'assistant' ? (message.artifacts?.length ?? 0) : 0), 0)
  for (const file of files.slice(0, maxFiles)) {
    signal.throwIfAborted()
    try {
      const bytes = Buffer.from(file.data, 'base64')
      result.artifacts.push(await keepArtifact({ name: nameOf(file, ++n), type: file.mediaType, bytes, tool: usage.model }))
    } catch (error) {
      result.faults.push(error instanceof Error ? error.message : 'A file could not be kept.')
    }
  }
  if (files.length > maxFiles) result.faults.push(`${files.length - maxFiles} further files were not kept.`)
  return result
}

const extensions: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'image/svg+xml': 'svg',
  'audio/mpeg': 'mp3',
  'audio/x-wav': 'wav',
  'video/quicktime': 'mov',
}

function nameOf({ mediaType }: ModelFile, n: number): string {
  const [kind = '', subtype = ''] = mediaType.toLowerCase().split(';', 1)[0]!.split('/')
  const extension = extensions[`${kind}/${subtype}`] ?? (/^[a-z0-9]{1,10}$/.test(subtype) ? subtype : 'bin')
  return `${['image', 'audio', 'video'].includes(kind) ? kind : 'file'}-${n}.${extension}`
}
