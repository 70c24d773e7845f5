import { globSync } from 'node:fs'
import { checkout } from './folder.ts'
import { PageFault } from './page.ts'

/** Documentation of the site, README and the page of the client. Decisions are prose for developers. */
const patterns = ['README.md', 'client/README.md', 'docs/*.md', 'docs/{start,concepts,guides,reference,compare}/**/*.md']

/** Names of the pages, all or those that the arguments name: `guides/files`, `docs/guides/files.md`, `guides`. Throws a `PageFault` for an unknown one. */
export function listPages(wanted: string[]): string[] {
  const all = globSync(patterns, { cwd: checkout }).toSorted()
  if (wanted.length === 0) return all
  return [...new Set(wanted.flatMap((name) => findPages(name, all)))]
}

function findPages(name: string, all: string[]): string[] {
  const bare = name.replace(/^docs\//, '').replace(/(\.md|\/)$/, '')
  const pages = all.filter((page) => {
    const place = page.replace(/^docs\//, '').replace(/\.md$/, '')
    return place === bare || place.startsWith(`${bare}/`)
  })
  if (pages.length === 0) throw new PageFault(`There is no page "${name}".`)
  return pages
}
