import { randomBytes } from 'node:crypto'
import { cp, lstat, readFile } from 'node:fs/promises'
import path from 'node:path'
import { packageRoot } from '../package-root.ts'
import { editorSettings } from './editor-settings.ts'
import { toModuleEntry, withEntry } from './module-entry.ts'
import { writeNew } from './new-file.ts'

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
  return withEntry(await readFile(path.join(samples, 'agent.yaml'), 'utf8'), sampleEntry)
}

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
