import { randomBytes } from 'node:crypto'
import { cp, lstat, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { packageRoot } from '../package-root.ts'
import { toModuleEntry, withEntry } from './tool/add-tool.ts'
import { existsSync } from 'node:fs'

const samples = path.join(packageRoot, 'samples')

const sampleTool = 'due_date'

/** A question that the sample tool answers. */
export const sampleQuestion = 'What is the due date 10 working days after 2026-12-01?'

/** The entry of agent.yaml for the sample tool. */
export const sampleEntry = toModuleEntry(sampleTool, `tools/${sampleTool}.ts`)

/** A file or folder of a new project. */
export interface ProjectFile {
  /** Path relative to the project. */
  name: string
  /** What the file is for; empty for files that need no explanation. */
  purpose: string
  /** Creates the file; false if it already exists. */
  create(): Promise<boolean>
}

/** The package of this program, for projects that install it. */
export interface ProgramPackage {
  /** Name of the tarball, such as `agent-core-0.1.0.tgz`. */
  name: string
  /** Content of the tarball. Undefined: the project has it. */
  content: Uint8Array | undefined
  /** Version of the types of Node for which the program is checked. */
  nodeTypes: string
}

/** The files of a project in a folder, in the order in which they are explained. */
export function projectFiles(folder: string, program: ProgramPackage): ProjectFile[] {
  const file = (name: string, purpose: string, content: () => Promise<string | Uint8Array>, mode?: number): ProjectFile => ({
    name,
    purpose,
    create: async () => writeNew(path.join(folder, name), await content(), mode),
  })
  const sample = (name: string) => async () => readFile(path.join(samples, 'project', name), 'utf8')
  return [
    file('agent.yaml', 'the agent: instructions, model, tools', sampleAgent),
    { name: 'files', purpose: 'documents and tables that its tools read', create: () => copyFiles(path.join(folder, 'files')) },
    file(`tools/${sampleTool}.ts`, 'a tool of your own', sample(`tools/${sampleTool}.ts`)),
    file('tools/tsconfig.json', '', async () => editorSettings({ hasNodeTypes: true })),
    file('README.md', 'how to start, change and check the agent', sample('README.md')),
    file('package.json', 'Agent Core as a dependency, and packages of your tools', async () => packageFile(folder, program)),
    { name: program.name, purpose: 'this version of Agent Core', create: () => writePackage(folder, program) },
    file('compose.yaml', 'the service with Postgres, for Docker', sample('compose.yaml')),
    file('Dockerfile', '', sample('Dockerfile')),
    file('.dockerignore', '', sample('dockerignore')),
    file('.env', 'generated passwords for compose.yaml', async () => secrets(), 0o600),
    file('.gitignore', '', sample('gitignore')),
  ]
}

/** The sample agent.yaml with the sample tool. */
async function sampleAgent(): Promise<string> {
  const text = await readFile(path.join(samples, 'agent.yaml'), 'utf8')
  return withEntry(text.replace('\nmemory:\n', `\n${containment}\nmemory:\n`), sampleEntry)
}

/** A new agent asks a person. Agents that exist keep what they have. */
const containment = `# After the model has read text that strangers can write, such as a web page: what happens to calls that change something, and, once
# private data was read too, to calls that carry text outside. allow, approve (a person is asked) or refuse.
containment:
  after_untrusted: approve
  outbound: approve
`

async function copyFiles(target: string): Promise<boolean> {
  // A link that leads nowhere exists too.
  const exists = await lstat(target).then(
    () => true,
    () => false,
  )
  if (!exists) await cp(path.join(samples, 'files'), target, { recursive: true })
  return !exists
}

async function writePackage(folder: string, { name, content }: ProgramPackage): Promise<boolean> {
  return content !== undefined && writeNew(path.join(folder, name), content)
}

function packageFile(folder: string, { name, nodeTypes }: ProgramPackage): string {
  const content = {
    name: toPackageName(path.basename(folder)),
    version: '0.0.0',
    private: true,
    type: 'module',
    engines: { node: '>=24' },
    scripts: { start: 'agent-core serve', chat: 'agent-core chat', check: 'agent-core config check' },
    dependencies: { 'agent-core': `file:${name}` },
    devDependencies: { '@types/node': nodeTypes },
  }
  return `${JSON.stringify(content, undefined, 2)}\n`
}

/** npm refuses to install a package into a project of the same name. */
function toPackageName(folderName: string): string {
  const name = folderName
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
  return name === '' || name === 'agent-core' ? 'my-agent' : name
}

function secrets(): string {
  const secret = () => randomBytes(32).toString('hex')
  return `POSTGRES_PASSWORD=${secret()}\nSECRET_KEY=${secret()}\n`
}

interface EditorOptions {
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

/** Writes a new file; false if the file already exists. */
export async function writeNew(file: string, content: string | Uint8Array, mode = 0o666): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: 'wx', mode })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
