import { existsSync } from 'node:fs'
import path from 'node:path'
import { packageRoot } from '../package-root.ts'

export interface EditorOptions {
  /** True if the types of Node are installed. */
  hasNodeTypes: boolean
  /** Path of the types of this package, relative to the file. Default: editors find them in node_modules. */
  types?: string | undefined
}

/** The tsconfig.json of a folder with tools: compiler options that match Node's type stripping. */
export function editorSettings({ hasNodeTypes, types }: EditorOptions): string {
  const compilerOptions = {
    target: 'es2024',
    // Without the types of Node, those of browsers know fetch, console and AbortSignal.
    ...(hasNodeTypes ? { lib: ['es2024'], types: ['node'] } : { lib: ['es2024', 'dom'] }),
    module: 'nodenext',
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    ...(types !== undefined && { paths: { 'agent-core': [types] } }),
  }
  return `${JSON.stringify({ compilerOptions }, undefined, 2)}\n`
}

/** The options for a folder. No path leads out of the project, so tsconfig.json can be committed: a checkout names its own types. */
export function findEditorOptions(folder: string): EditorOptions {
  const types = isWithin(folder, packageRoot) ? path.relative(folder, ownTypes).split(path.sep).join('/') : undefined
  return { hasNodeTypes: isInstalled(folder, '@types/node'), types }
}

/** True if editors find the types of this package from a folder. */
export function findsTypes(folder: string): boolean {
  return isWithin(folder, packageRoot) || isInstalled(folder, 'agent-core')
}

const isSource = path.extname(import.meta.filename) === '.ts'
const ownTypes = path.join(import.meta.dirname, `../tool-module${isSource ? '.ts' : '.d.ts'}`)

function isWithin(folder: string, parent: string): boolean {
  const relative = path.relative(parent, folder)
  return relative !== '..' && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative)
}

/** True if imports from the folder find the package. */
function isInstalled(folder: string, name: string): boolean {
  if (existsSync(path.join(folder, 'node_modules', name))) return true
  return path.dirname(folder) !== folder && isInstalled(path.dirname(folder), name)
}
