import process from 'node:process'
import { freezeIntrinsics } from '../../processes/freeze-intrinsics.ts'
import type { WorkerMessage } from '../../processes/worker-processes.ts'
import { readPage, type Page } from './read-page.ts'

/** A worker process for pages: answers `PageRequest` messages in order, and exits when the channel closes. */

export interface PageRequest {
  html: string
  /** Address of the page; links of the page are relative to this address. */
  url: string
}

/** The text is UTF-8. */
export type PageAnswer = { page: Omit<Page, 'text'>; text: Uint8Array } | { error: string }

async function answer({ html, url }: PageRequest): Promise<PageAnswer> {
  try {
    const { text, ...page } = await readPage(html, url)
    return { page, text: Buffer.from(text) }
  } catch (error) {
    const isDeep = error instanceof RangeError
    return {
      error: isDeep ? 'its elements are nested too deeply' : error instanceof Error ? error.message.slice(0, 500) : 'it is not a page',
    }
  }
}

process.on(
  'message',
  (request: PageRequest) => void answer(request).then((message) => process.send?.(message satisfies WorkerMessage<PageAnswer>)),
)
process.on('disconnect', () => process.exit(0))
// Warm-up: most parts of the page reader are created at the first use.
await answer({ html: '<html><body><article><h1>A</h1><p>B</p></article></body></html>', url: 'http://localhost/' })
freezeIntrinsics()
process.send?.({ ready: true } satisfies WorkerMessage<PageAnswer>)
