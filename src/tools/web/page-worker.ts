import { freezeIntrinsics } from '../../processes/freeze-intrinsics.ts'
import { serveQuestions } from '../../processes/serve-questions.ts'
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

// Warm-up: most parts of the page reader are created at the first use.
await answer({ html: '<html><body><article><h1>A</h1><p>B</p></article></body></html>', url: 'http://localhost/' })
freezeIntrinsics()
serveQuestions(answer)
