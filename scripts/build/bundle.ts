import { cp, readFile, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import path from 'node:path'
import { rolldown, type ChunkingContext, type OutputOptions, type Plugin } from 'rolldown'
import { collectLicenses } from './licenses.ts'
import { compiledSchemas } from './compiled-schemas.ts'

/** The programs of child processes and threads. Each is a bundle of its own: a sandbox may read the folder of its program only. */
const programs = [
  'files/document-worker',
  'search/disk/worker',
  'search/encoder/worker',
  'tools/calculator/worker',
  'tools/caller-schemas/worker',
  'tools/chart/worker',
  'tools/data-query/child',
  'tools/module/worker',
  'tools/openapi/worker',
  'tools/python/child',
  'tools/python/thread',
  'tools/web/page-worker',
]

/** Files that the service reads beside its programs. */
const dataFiles = ['search/thesaurus.txt']

/** Folder of the service's own bundle. */
const folder = 'chunks'

/** Bundles the service into `target/src/chunks`, which `target/src/main.js` loads, and each program into `target/src`, and copies the data files. */
export async function bundleService(root: string, target: string): Promise<void> {
  const sources = path.join(root, 'src')
  const [service, ...others] = await Promise.all([
    bundle(root, target, {
      name: 'main',
      folder,
      plugins: [compiledSchemas(sources)],
      codeSplitting: { groups: [{ debugName: 'start', name: createGrouping(sources) }] },
    }),
    ...programs.map((name) => bundle(root, target, { name, folder: path.posix.dirname(name) })),
  ])
  for (const name of dataFiles) await cp(path.join(sources, name), path.join(target, 'src', name))
  await writeFile(path.join(target, 'src', folder, 'LICENSES.txt'), collectLicenses([...service, ...others.flat()]))
  await writeFile(path.join(target, 'src/main.js'), "import './chunks/main.js'\n")
}

interface Bundle {
  /** The entry: a file of `src`, without its extension. */
  name: string
  /** Folder of the files, below `target/src`. */
  folder: string
  plugins?: Plugin[]
  codeSplitting?: OutputOptions['codeSplitting']
}

/** Returns the paths of the modules in the bundle. */
async function bundle(root: string, target: string, { name, folder, plugins = [], codeSplitting }: Bundle): Promise<string[]> {
  const sources = path.join(root, 'src')
  const isInstalled = await findInstalled(root)
  const built = await rolldown({
    input: path.join(sources, `${name}.ts`),
    platform: 'node',
    // A dynamic import of a module in a chunk of the start is as intended. Errors are thrown.
    logLevel: 'silent',
    external: isInstalled,
    plugins: [
      ...plugins,
      {
        name: 'late-builtins',
        transform: (code, file) => (/(fastify.lib.server|client.lib.pushgateway)\.js$/.test(file) ? loadBuiltinsLate(code) : null),
      },
      { name: 'late-callers', transform: (_, file) => (/pino.lib.caller\.js$/.test(file) ? withoutCallers() : null) },
      { name: 'plain-prefixes', transform: (code, file) => (/find-my-way.lib.node\.js$/.test(file) ? comparePrefixes(code) : null) },
      {
        name: 'shared-functions',
        transform: (code, file) => (/find-my-way.lib.handler-storage\.js$/.test(file) ? compileOnce(code) : null),
      },
      { name: 'unused', load: (id) => (unusedPackages.test(id) ? refuseCalls() : null) },
      { name: 'builtins', resolveId: resolveBuiltin, load: (id) => (id.startsWith(builtinPrefix) ? builtinCode(id) : null) },
      {
        name: 'import-meta',
        transform: (code, file) => (isBelow(sources, file) ? locate(code, path.relative(sources, file), folder) : null),
      },
    ],
  })
  const { output } = await built.write({
    dir: path.join(target, 'src', folder),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    // V8 keeps the text of all loaded code: two bytes a character in a file with a single character outside of Latin-1.
    charset: 'ascii',
    comments: false,
    ...(codeSplitting && { codeSplitting }),
  })
  await built.close()
  return output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
}

/**
 * Packages that stay in `node_modules`: the dependencies of the published package, which have native code or files of their own. The code of
 * all others is copied into the bundle. TypeBox is installed for modules of operators, but copied as well: a start reads many of its files.
 */
async function findInstalled(root: string): Promise<(id: string) => boolean> {
  const { dependencies, optionalDependencies } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8')) as Record<
    'dependencies' | 'optionalDependencies',
    Record<string, string>
  >
  const names = new Set(Object.keys({ ...dependencies, ...optionalDependencies }))
  names.delete('typebox')
  return (id) => names.has(packageOf(id))
}

/** Puts modules that are loaded together into chunks, because each file takes a millisecond: the command, the service, and all routes. */
function createGrouping(sources: string) {
  let command: Set<string> | undefined
  let service: Set<string> | undefined
  let routes: Set<string> | undefined
  return (id: string, context: ChunkingContext): string | null => {
    const importsOf = (module: string) => context.getModuleInfo(module)?.importedIds ?? []
    // A supervisor of workers loads the command alone, and stays small. `main.ts` waits for the service, so the service must not import its chunk.
    command ??= collectImports([path.join(sources, 'cli/command.ts'), path.join(sources, 'cli/serve.ts')], importsOf)
    service ??= collectImports([path.join(sources, 'cli/start.ts')], importsOf)
    routes ??= collectImports([path.join(sources, 'service/all-routes.ts')], importsOf)
    return command.has(id) ? 'command' : service.has(id) ? 'service' : routes.has(id) ? 'routes' : null
  }
}

function collectImports(roots: readonly string[], importsOf: (module: string) => readonly string[]): Set<string> {
  const found = new Set(roots)
  // A set iterates over what is added meanwhile.
  for (const module of found) for (const imported of importsOf(module)) found.add(imported)
  return found
}

/** `ajv/dist/2020.js` belongs to `ajv`, `@fastify/swagger` to itself. */
function packageOf(id: string): string {
  return id.split('/', id.startsWith('@') ? 2 : 1).join('/')
}

/** A module in a bundle still finds the files beside its compiled file: programs, and files of the package. Packages that it requires are copied. */
function locate(code: string, file: string, folder: string) {
  if (!code.includes('import.meta')) return null
  const compiled = path.posix.relative(folder, file.replace(/\.ts$/, '.js'))
  const join = (to: string) => `process.getBuiltinModule('path').join(import.meta.dirname, ${JSON.stringify(to)})`
  const replacements: Record<string, string> = {
    dirname: join(path.posix.dirname(compiled)),
    filename: join(compiled),
    url: `new URL(${JSON.stringify(compiled)}, import.meta.url).href`,
  }
  const located = code
    .replace(/^const require = createRequire\(import\.meta\.url\)$/m, '')
    .replace(/\bimport\.meta\.(dirname|filename|url)\b/g, (_, property: string) => replacements[property]!)
  return { code: located, map: null }
}

function isBelow(folder: string, file: string): boolean {
  return file.startsWith(folder + path.sep)
}

/** Fastify and the client of Prometheus load the builtins of TLS and HTTP/2 in case they are configured with them, which takes 15 ms. */
function loadBuiltinsLate(code: string) {
  const late = code.replace(
    /const (https|http2) = require\('(?:node:)?(https|http2)'\)/g,
    "const $1 = new Proxy({}, { get: (_, name) => require('node:$2')[name] })",
  )
  return { code: late, map: null }
}

/** Pino asks for its callers, to find the file of a transport beside them. No transport is used, and the lines of all code are counted for the answer: 5 ms, 1.2 MB. */
function withoutCallers() {
  return { code: 'module.exports = () => []', map: null }
}

/** The router compiles a function for each short part of a path, which takes 10 ms. For a long part it searches the text. */
function comparePrefixes(code: string) {
  return { code: code.replace('LONG_PREFIX_MIN_LENGTH = 16', 'LONG_PREFIX_MIN_LENGTH = 2'), map: null }
}

/** The router compiles functions for each route. Most of their texts are equal. */
function compileOnce(code: string) {
  const shared = `${code.replaceAll('new Function(', 'compileOnce(')}
const compiled = new Map()
function compileOnce(...texts) {
  const key = texts.join()
  if (!compiled.has(key)) compiled.set(key, new Function(...texts))
  return compiled.get(key)
}`
  return { code: shared, map: null }
}

/** Packages that Fastify loads for its own compilers and for tests, which the service does not use: 0.3 MB of text. */
const unusedPackages = /node_modules.(@fastify.ajv-compiler|@fastify.fast-json-stringify-compiler|light-my-request).index\.js$/

function refuseCalls() {
  return { code: "module.exports = () => { throw new Error('This package is not part of the bundle.') }", moduleType: 'js' as const }
}

const builtinPrefix = '\0builtin:'

/** CommonJS, and the bundler's own code, get the builtin itself. */
function resolveBuiltin(id: string, importer: string | undefined, { kind }: { kind: string }) {
  if (!isBuiltin(id)) return null
  return kind === 'import-statement' && !importer?.startsWith('\0') ? builtinPrefix + id.replace(/^node:/, '') : { id, external: true }
}

/** An import of a builtin reads all of its exports, and `node:http`, `node:util` or `node:fs` loads much of Node for some of them. Unused exports are left out. */
function builtinCode(id: string): string {
  const name = `node:${id.slice(builtinPrefix.length)}`
  const names = Object.keys(process.getBuiltinModule(name) ?? {}).filter((name) => name !== 'default')
  const exported = names.map((name) => `export const ${name} = /*#__PURE__*/ $read('${name}')\n`)
  return `const $builtin = process.getBuiltinModule('${name}')\nconst $read = (name) => $builtin[name]\nexport default $builtin\n${exported.join('')}`
}
