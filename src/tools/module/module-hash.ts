import { hash } from 'node:crypto'
import { constants, open } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** A module with more files, or a longer file, has a hash that says so, whatever the rest contains. */
const maxFiles = 500
const maxBytes = 5_242_880

/** `import ... from 'x'`, `export ... from 'x'`, `import 'x'`, `import('x')` and `require('x')`. */
const specifiers = /\b(?:from|import|require)\s*(?:\(\s*)?(['"`])([^'"`\n$]{1,1000})\1/g

/**
 * SHA-256 over the file of a module and the local files that the module imports by a literal name: that of the lines of `sha256sum`, with paths
 * relative to `configDir`. Nothing is executed. Packages are left out, as from the files that reload a module.
 */
export async function hashModule(configDir: string, modulePath: string): Promise<string> {
  const files = [path.resolve(configDir, modulePath)]
  const lines: string[] = []
  for (let index = 0; index < files.length && index < maxFiles; index++) {
    const file = files[index]!
    const { digest, text } = await readSource(file)
    lines.push(`${digest}  ${JSON.stringify(path.relative(configDir, file))}\n`)
    for (const imported of localImports(file, text)) if (!files.includes(imported)) files.push(imported)
  }
  return hash('sha256', lines.toSorted().join(''))
}

/** A missing or unreadable file counts too, because the file may appear. */
async function readSource(file: string): Promise<{ digest: string; text: string }> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const stats = await handle.stat()
    if (!stats.isFile()) return { digest: 'not-a-file', text: '' }
    if (stats.size > maxBytes) return { digest: `long-${stats.size}-${stats.mtimeMs}`, text: '' }
    const bytes = await handle.readFile()
    return { digest: hash('sha256', bytes), text: bytes.toString('utf8') }
  } catch {
    return { digest: 'unreadable', text: '' }
  }
}

function localImports(file: string, text: string): string[] {
  const { resolve } = createRequire(file)
  const found = new Set(text.matchAll(specifiers).map(([, , specifier]) => specifier!))
  return [...found].flatMap((specifier) => {
    const target = resolveLocal(file, specifier, resolve)
    return target === undefined || target.includes(`${path.sep}node_modules${path.sep}`) ? [] : [target]
  })
}

/** Undefined for a package, and for a module of Node. */
function resolveLocal(file: string, specifier: string, resolve: NodeJS.RequireResolve): string | undefined {
  const isPath = /^(\.\.?\/|\/|file:)/.test(specifier)
  try {
    const target = resolve(isPath ? toPath(file, specifier) : specifier)
    return path.isAbsolute(target) ? target : undefined
  } catch {
    return isPath ? toPath(file, specifier) : undefined
  }
}

function toPath(file: string, specifier: string): string {
  const url = URL.parse(specifier, pathToFileURL(file).href)
  return url?.protocol === 'file:' ? fileURLToPath(url) : path.resolve(path.dirname(file), specifier)
}
