import { messageWithCause } from '../../errors.ts'
import type { Finding } from '../../models/check-models.ts'
import type { Settings } from '../../settings/settings.ts'

/** Checks that the artifact store is usable; without a store, warns that processes on other machines cannot read artifacts. */
export async function checkArtifacts({ artifactStore, databaseUrl, dataDir }: Settings): Promise<Finding[]> {
  if (!artifactStore) {
    const text = `artifacts: files in ${dataDir}, which processes on other machines cannot read`
    const advice = 'If the service runs on several machines, set ARTIFACT_STORE, or set DATA_DIR to a shared folder.'
    return databaseUrl === undefined ? [] : [{ state: 'warn', text, advice }]
  }
  const { checkBucket } = await import('../../store/s3/check.ts')
  const { bucket, prefix } = artifactStore
  try {
    await checkBucket(artifactStore, 0)
    return [{ state: 'ok', text: `artifacts: s3://${bucket}/${prefix.slice(0, -1)} accepts files` }]
  } catch (error) {
    const advice = 'Correct the variable, or allow reading, writing, listing and deleting under the prefix on the server.'
    return [{ state: 'fail', text: `artifacts: ${messageWithCause(error)}`, advice }]
  }
}
