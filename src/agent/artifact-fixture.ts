import type { Artifact } from './artifact.ts'

/** For tools that make no files: one that does fails. */
export const keepNothing = (): Promise<Artifact> => Promise.reject(new Error('No files are kept here.'))
