import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { messageOf } from '../../errors.ts'
import { writeNew } from '../new-file.ts'
import type { Chunk, ServiceClient } from './service-client.ts'

type AnswerFile = NonNullable<Chunk['generated_artifacts']>[number]

export interface SaveOptions {
  client: Pick<ServiceClient, 'content'>
  folder: string
  /** The folder to which the paths in the lines are relative. */
  cwd: string
}

/** Saves the files of an answer, and returns a line for each: its path, or why it is not there. An existing file is not overwritten. */
export async function saveFiles(files: readonly AnswerFile[], { client, folder, cwd }: SaveOptions): Promise<string[]> {
  const lines: string[] = []
  for (const { artifact_id: id, file_name: name } of files) {
    try {
      const target = await writeBeside(folder, toFileName(name), await client.content(id))
      lines.push(`Saved ${path.relative(cwd, target)}`)
    } catch (error) {
      lines.push(`The file ${name} was not saved: ${messageOf(error)}`)
    }
  }
  return lines
}

/** The last part of the name, without control characters. A name of dots alone would lead to another folder. */
function toFileName(name: string): string {
  const last = path.basename(name.replaceAll('\\', '/')).replaceAll(/\p{Cc}/gu, '')
  return /^\.*$/.test(last) ? 'file' : last
}

/** Writes `chart.png`, or `chart-2.png` and so on if a file of this name exists. Returns the path. */
async function writeBeside(folder: string, name: string, content: Uint8Array): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { name: stem, ext } = path.parse(name)
  for (let number = 1; ; number++) {
    const target = path.join(folder, number === 1 ? name : `${stem}-${number}${ext}`)
    if (await writeNew(target, content, 0o600)) return target
  }
}
