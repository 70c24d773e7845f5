import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const folder = import.meta.dirname

/** Installs the generators of this folder, which need TypeScript 5, if the lock file has changed since the last time. */
export function installGenerators(): void {
  const lock = readFileSync(path.join(folder, 'package-lock.json'), 'utf8')
  const installedLock = path.join(folder, 'node_modules/.installed-lock.json')
  if (readText(installedLock) === lock) return
  const options = ['ci', '--prefix', folder, '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  execFileSync('npm', options, { stdio: ['ignore', 'ignore', 'inherit'] })
  writeFileSync(installedLock, lock)
}

/** The path of a file of an installed generator. */
export function pathOfGenerator(file: string): string {
  return path.join(folder, 'node_modules', file)
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
