import { readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { listBuiltFiles, type BuiltFile } from '../server/built-files.ts'
import { pageHeaders, type RenderedPage } from '../server/pages.ts'

/** The built documentation: pages, which are written for one prefix each, and files, which are sent as they are. */
export interface DocumentationSite {
  /** Files by their path below `/docs/`, such as `assets/app.Ev3gu5da.js` and `guides/streaming.md`. */
  files: ReadonlyMap<string, BuiltFile>
  /** True for a page such as `guides/streaming`. */
  hasPage(name: string): boolean
  /** Reads a page and writes it for a prefix. Rejects when the file has been removed. `prefix` is a checked path prefix. */
  readPage(name: string, prefix: string): Promise<RenderedPage>
}

/** The build writes addresses of this service below this prefix (`docs/.vitepress/prefix.ts`). */
const prefixPlaceholder = '/__prefix__'
const hashFile = 'script-hashes.json'

/** Returns a function that opens the build in a folder when it is first needed, and again after a newer build has replaced it. */
export function createSiteOpener(folder: string): () => Promise<DocumentationSite | undefined> {
  let opened: { builtAt: number; site: Promise<DocumentationSite | undefined> } | undefined
  return async () => {
    const builtAt = await stat(path.join(folder, 'index.html')).then(
      ({ ctimeMs }) => ctimeMs,
      () => undefined,
    )
    if (builtAt === undefined) return undefined
    if (opened?.builtAt !== builtAt) opened = { builtAt, site: openSite(folder) }
    return opened.site
  }
}

/** Opens a build of the documentation. Undefined when the folder holds no build. */
async function openSite(folder: string): Promise<DocumentationSite | undefined> {
  const built = await listBuiltFiles(folder)
  if (!built.has('index.html')) return undefined
  const scriptHashes = JSON.parse(await readFile(path.join(folder, hashFile), 'utf8')) as string[]
  const headers = { ...pageHeaders, 'cache-control': 'no-cache', 'content-security-policy': policy(scriptHashes) }
  const pages = new Map([...built].filter(([name]) => name.endsWith('.html')))
  const isFile = (name: string) => !pages.has(name) && name !== hashFile
  return {
    files: new Map([...built].filter(([name]) => isFile(name))),
    hasPage: (name) => pages.has(`${name}.html`),
    async readPage(name, prefix) {
      const { bytes } = await pages.get(`${name}.html`)!.read()
      return { html: bytes.toString().replaceAll(prefixPlaceholder, prefix), headers }
    },
  }
}

/** The pages load nothing from other hosts. Their two short scripts, which prevent a flash of the wrong theme, are named by their hashes. */
function policy(scriptHashes: readonly string[]): string {
  return [
    "default-src 'none'",
    `script-src 'self' ${scriptHashes.map((hash) => `'${hash}'`).join(' ')}`,
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}
