import type { ToolContext } from '../../agent/tool.ts'
import type { Document } from '../../files/document.ts'
import { parseInProcess } from '../../files/document-process.ts'
import { createWorkerProcesses } from '../../processes/worker-processes.ts'
import { decodeText, essenceOf, isText } from './decode-text.ts'
import type { FetchedResponse } from './fetch-address.ts'
import type { PageAnswer, PageRequest } from './page-worker.ts'
import { messageOf } from '../../errors.ts'

/** A body as text, and what it tells of itself. */
export interface PageText {
  [about: string]: string
  text: string
}

/** Who asks for a page, and may leave. */
export type PageRequester = Pick<ToolContext, 'signal' | 'caller'>

export interface PageReader {
  /** Rejects with a sentence for a model. */
  read(answer: FetchedResponse, asker: PageRequester): Promise<PageText>
  close(): Promise<void>
}

export interface PageLimits {
  /** For one page, from the moment when a process takes it. */
  pageMs: number
  /** Without work for this long a process is ended: it holds about 80 MB. */
  idleMs: number
}

/** A thousand times what a page takes. */
const defaults: PageLimits = { pageMs: 10_000, idleMs: 60_000 }

/** Characters of HTML that are read, from its beginning: pages that people write have less, and readers take more than twice as long for twice as much. */
const maxHtml = 4_000_000

/** The text of such a page, all of it in another script. */
const maxTextBytes = 6 * maxHtml

export function createPageReader(limits: Partial<PageLimits> = {}): PageReader {
  const { pageMs, idleMs } = { ...defaults, ...limits }
  const processes = createWorkerProcesses<PageRequest, PageAnswer>({
    module: new URL('./page-worker', import.meta.url),
    limits: { dataKb: 1_500_000, heapMb: 512, cpuSeconds: 300 },
    questionsPerProcess: 100,
    isIsolated: true,
    messages: { bytes: maxTextBytes },
    questionMs: pageMs,
    idleMs,
    maxProcesses: 2,
    errorTexts: {
      timedOut: `The page can not be read: it took longer than ${pageMs / 1000} s.`,
      outOfMemory: 'The page can not be read: it needs too much memory.',
      crashed: 'What reads pages stopped unexpectedly.',
      closed: 'The tool is closed.',
    },
  })

  async function readHtml(html: string, url: string, { signal, caller }: PageRequester): Promise<PageText> {
    const answer = await processes.ask({ html: html.slice(0, maxHtml), url }, signal, caller)
    if ('error' in answer) throw new Error(`The page can not be read: ${answer.error}.`)
    if (answer.text.length === 0) throw new Error('The page has no text: most likely it is made by scripts, which are not run here.')
    return { ...answer.page, text: Buffer.from(answer.text).toString() }
  }

  async function read({ bytes, headers, url, isCut }: FetchedResponse, asker: PageRequester): Promise<PageText> {
    const type = headers.get('content-type')
    const kind = kindOf(bytes, type)
    switch (kind) {
      case 'html':
        return readHtml(decodeText(bytes, type), url, asker)
      case 'text': {
        const essence = essenceOf(type)
        return { ...(essence && { content_type: essence }), text: decodeText(bytes, type) }
      }
      case undefined:
        throw new Error(`${url} is ${essenceOf(type) || 'no text'}: only pages, texts and documents (PDF, Word, Excel) can be read.`)
      default:
        if (isCut) throw new Error('The document is too large to be read.')
        return fromDocument(await readDocument(kind, bytes, asker))
    }
  }

  return { read, close: processes.close }
}

type Kind = 'html' | 'text' | 'pdf' | 'docx' | 'xlsx'

/** By what it says it is, where its bytes do not say otherwise: servers often know no better than the ending of a name. */
function kindOf(bytes: Uint8Array, type: string | null): Kind | undefined {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString('latin1')
  if (start.startsWith('%PDF-')) return 'pdf'
  if (start.startsWith('PK\x03\x04')) {
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return whole.includes('word/document.xml') ? 'docx' : whole.includes('xl/workbook.xml') ? 'xlsx' : undefined
  }
  const essence = essenceOf(type)
  if (/^(image|audio|video|font)\//.test(essence) && essence !== 'image/svg+xml') return undefined
  const isBinary = bytes.subarray(0, 8192).includes(0) && !/^(\xff\xfe|\xfe\xff)/.test(start) && !/utf-?(16|32)/i.test(type ?? '')
  if (isBinary) return undefined
  if (/^(text\/html|application\/xhtml\+xml)$/.test(essence)) return 'html'
  const isUnsaid = essence === '' || essence === 'application/octet-stream' || essence === 'text/plain'
  if (isUnsaid && /^\W*(<!doctype html|<html)/i.test(start)) return 'html'
  return isText(bytes, type) || isUnsaid ? 'text' : undefined
}

async function readDocument(kind: Exclude<Kind, 'html' | 'text'>, bytes: Uint8Array, { caller, signal }: PageRequester): Promise<Document> {
  try {
    return await parseInProcess(kind, bytes, { caller, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw new Error(`The document can not be read: ${messageOf(error)}.`, { cause: error })
  }
}

function fromDocument({ text, metadata }: Document): PageText {
  if (text.trim() === '') throw new Error('The document has no text: most likely its pages are images.')
  const { title, author } = metadata
  return { ...(title !== undefined && { title: String(title) }), ...(author !== undefined && { author: String(author) }), text }
}
