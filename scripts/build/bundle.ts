import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { rolldown, type ChunkingContext } from 'rolldown'
import { collectLicenses } from './licenses.ts'
import { compiledSchemas } from './compiled-schemas.ts'

/**
 * Packages whose code is copied into the bundle: those that the service loads before or at its first requests. Hundreds of small files cost
 * most of the time of a start. All other packages are imported from `node_modules`, when they are first used.
 */
const bundled = new Set([
  '@fastify/swagger',
  '@prometheus-io/client',
  'ajv',
  'commander',
  'content-disposition',
  'cookie',
  'eventsource-parser',
  'fastify',
  'ipaddr.js',
  'jose',
  'kysely',
  'pino',
  'standardwebhooks',
  'typebox',
  'undici',
  'yaml',
])

/** Folder of the bundle, beside the compiled files that worker processes load. */
const folder = 'src/chunks'

/** Bundles the service into `target/src/chunks`; `target/src/main.js` loads the bundle. */
export async function bundleService(root: string, target: string): Promise<void> {
  const sources = path.join(root, 'src')
  const bundle = await rolldown({
    input: path.join(sources, 'main.ts'),
    platform: 'node',
    // A dynamic import of a module in a chunk of the start is as intended. Errors are thrown.
    logLevel: 'silent',
    external: (id, importer) => isExternal(id, importer ?? ''),
    plugins: [
      compiledSchemas(sources),
      { name: 'late-builtins', transform: (code, file) => (/fastify.lib.server\.js$/.test(file) ? loadBuiltinsLate(code) : null) },
      { name: 'import-meta', transform: (code, file) => (isBelow(sources, file) ? locate(code, path.relative(sources, file)) : null) },
    ],
  })
  const { output } = await bundle.write({
    dir: path.join(target, folder),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: { groups: [{ debugName: 'start', name: createGrouping(sources) }] },
  })
  await bundle.close()
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  await writeFile(path.join(target, folder, 'LICENSES.txt'), collectLicenses(modules))
  await writeFile(path.join(target, 'src/main.js'), "import './chunks/main.js'\n")
}

/** Puts modules that are loaded together into two chunks, because each file of a start takes a millisecond: the command, and the service. */
function createGrouping(sources: string) {
  let command: Set<string> | undefined
  let service: Set<string> | undefined
  return (id: string, context: ChunkingContext): string | null => {
    const importsOf = (module: string) => context.getModuleInfo(module)?.importedIds ?? []
    // A supervisor of workers loads the command alone, and stays small. `main.ts` waits for the service, so the service must not import its chunk.
    command ??= collectImports([path.join(sources, 'cli/command.ts'), path.join(sources, 'cli/serve.ts')], importsOf)
    service ??= collectImports([path.join(sources, 'cli/start.ts')], importsOf)
    return command.has(id) ? 'command' : service.has(id) ? 'service' : null
  }
}

function collectImports(roots: readonly string[], importsOf: (module: string) => readonly string[]): Set<string> {
  const found = new Set(roots)
  // A set iterates over what is added meanwhile.
  for (const module of found) for (const imported of importsOf(module)) found.add(imported)
  return found
}

function isExternal(id: string, importer: string): boolean {
  const isOwn = !importer.includes(`${path.sep}node_modules${path.sep}`)
  if (id.startsWith('node:')) return true
  if (id.startsWith('.') || path.isAbsolute(id)) return false
  return isOwn && !bundled.has(packageOf(id))
}

/** `ajv/dist/2020.js` belongs to `ajv`, `@fastify/swagger` to itself. */
function packageOf(id: string): string {
  return id.split('/', id.startsWith('@') ? 2 : 1).join('/')
}

/** A module in the bundle still finds the files beside its compiled file: worker modules, and files of the package. */
function locate(code: string, file: string) {
  if (!code.includes('import.meta')) return null
  const compiled = path.posix.join('..', file.replace(/\.ts$/, '.js'))
  const join = (to: string) => `process.getBuiltinModule('path').join(import.meta.dirname, ${JSON.stringify(to)})`
  const replacements: Record<string, string> = {
    dirname: join(path.posix.dirname(compiled)),
    filename: join(compiled),
    url: `new URL(${JSON.stringify(compiled)}, import.meta.url).href`,
  }
  const located = code.replace(/\bimport\.meta\.(dirname|filename|url)\b/g, (_, property: string) => replacements[property]!)
  return { code: located, map: null }
}

function isBelow(folder: string, file: string): boolean {
  return file.startsWith(folder + path.sep)
}

/** Fastify loads the builtins of TLS and HTTP/2 in case it is configured with them, which takes 15 ms. */
function loadBuiltinsLate(code: string) {
  const late = code.replace(
    /const (https|http2) = require\('node:(https|http2)'\)/g,
    "const $1 = new Proxy({}, { get: (_, name) => require('node:$2')[name] })",
  )
  return { code: late, map: null }
}
