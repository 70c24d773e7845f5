import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { folder, pages } from './pages.ts'

/** Writes the pages of the reference from the code: `npm run reference`. */
await mkdir(folder, { recursive: true })
for (const [name, generate] of Object.entries(pages)) await writeFile(path.join(folder, name), await generate())
console.log(`Wrote ${Object.keys(pages).length} pages to docs/reference.`)
