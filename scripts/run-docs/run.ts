import { existsSync } from 'node:fs'
import path from 'node:path'
import { isTypeScript } from './block.ts'
import { checkout, createWorkspace } from './folder.ts'
import { createNeeds } from './needs.ts'
import { PageFault, readPage, type Page } from './page.ts'
import { listPages } from './pages.ts'
import { formatPage, formatTotals } from './report.ts'
import { runPage, type PageResult, type Surroundings } from './run-page.ts'
import { checkTypes } from './typescript-blocks.ts'

/**
 * Executes the commands and code blocks of the documentation against the build: `npm run docs:check [PAGE...]`. Prints a line for each page
 * and a report. Exits with 1 when a block fails. CONTRIBUTING.md, "Write a documentation page", has the rules.
 */
const maxPages = 2

if (!existsSync(path.join(checkout, 'dist/src/main.js'))) {
  console.error('There is no build. Run "npm run build" first.')
  process.exit(1)
}
const startedAt = performance.now()
let pages: Page[]
try {
  pages = listPages(process.argv.slice(2)).map((name) => readPage(path.join(checkout, name), name))
} catch (error) {
  if (!(error instanceof PageFault)) throw error
  console.error(error.message)
  process.exit(1)
}
const { results, typeFaults, repeated } = await runAll(pages)
for (const fault of typeFaults) console.log(`FAIL ${fault}`)
const typeScriptBlocks = pages.flatMap(({ blocks }) => blocks).filter((block) => isTypeScript(block) && !block.skip).length
console.log(`\n${formatTotals(results, typeScriptBlocks, (performance.now() - startedAt) / 1000)}`)
const failed = results.filter(({ faults }) => faults.length > 0).map(({ page }) => page)
if (repeated.length > 0) console.log(`Pages that failed and were run a second time, alone: ${repeated.join(' ')}`)
if (failed.length > 0) console.log(`Pages that fail: ${failed.join(' ')}`)
// Shared parts may leave handles open.
process.exit(failed.length > 0 || typeFaults.length > 0 ? 1 : 0)

interface Outcome {
  results: PageResult[]
  typeFaults: string[]
  /** Names of pages that failed in their first run. */
  repeated: string[]
}

async function runAll(pages: Page[]): Promise<Outcome> {
  const workspace = await createWorkspace()
  const needs = createNeeds()
  try {
    const checking = checkTypes(pages)
    const first = await runPages(pages, { workspace, needs })
    const typeFaults = await checking
    const repeated = first.filter(({ faults }) => faults.length > 0).map(({ page }) => page)
    return { results: await repeatAlone(first, pages, { workspace, needs }), typeFaults, repeated }
  } finally {
    await needs.end()
    await workspace.remove()
  }
}

/** Runs pages, `maxPages` at the same time, and prints each when it ends. Results are in the order of the pages. */
async function runPages(pages: Page[], surroundings: Surroundings): Promise<PageResult[]> {
  const results: PageResult[] = []
  const waiting = [...pages.entries()]
  async function work(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, page] = next
      const result = await runPage(page, surroundings).catch((error: unknown) => toBrokenPage(page, error))
      results[index] = result
      console.log(formatPage(result))
    }
  }
  await Promise.all(Array.from({ length: maxPages }, work))
  return results
}

/** Runs failed pages a second time, one after another: the first run shares the machine with the tests, and processes may be slow to start. */
async function repeatAlone(first: readonly PageResult[], pages: readonly Page[], surroundings: Surroundings): Promise<PageResult[]> {
  const results = [...first]
  for (const [index, { faults }] of first.entries()) {
    if (faults.length === 0) continue
    results[index] = await runPage(pages[index]!, surroundings).catch((error: unknown) => toBrokenPage(pages[index]!, error))
    console.log(formatPage(results[index]))
  }
  return results
}

/** A page whose service or parts do not start. */
function toBrokenPage({ name }: Page, error: unknown): PageResult {
  const message = error instanceof Error ? error.message : String(error)
  const counts = { run: 0, compared: 0, written: 0, parsed: 0, seconds: 0 }
  return { page: name, ...counts, skipped: [], faults: [{ line: 1, message, details: {} }] }
}
