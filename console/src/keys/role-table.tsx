import { CheckIcon } from '@primer/octicons-react'
import { RowsSkeleton } from '../parts/skeletons.tsx'
import { FailedState } from '../parts/states.tsx'
import { useRoles } from './queries.ts'
import { permissionsOf, permissionTexts } from './roles.ts'
import styles from './keys.module.css'

/** Permissions of the roles: a line for each permission, a column for each role. */
export function RoleTable() {
  const { data: roles, error, refetch } = useRoles()
  if (error && !roles) return <FailedState title="The roles could not be loaded" error={error} retry={() => void refetch()} />
  if (!roles) {
    return (
      <div className={styles.loading}>
        <RowsSkeleton />
      </div>
    )
  }
  return (
    <div className={styles.matrixBox} role="region" aria-label="Roles and their permissions" tabIndex={0}>
      <table className={styles.matrix}>
        <thead>
          <tr>
            <th scope="col">Permission</th>
            {roles.map(({ name }) => (
              <th key={name} scope="col" title={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {permissionsOf(roles).map((permission) => (
            <tr key={permission}>
              <th scope="row">
                <span>{permissionTexts[permission] ?? permission}</span>
                <code className={styles.id}>{permission}</code>
              </th>
              {roles.map(({ name, permissions }) => (
                <td key={name}>
                  {permissions.includes(permission) ? <CheckIcon aria-label="yes" /> : <span className={styles.no}>–</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <p className={styles.note}>
        A key may have several roles: it may do what any of them permits. More roles are defined in agent.yaml, under{' '}
        <code>access.roles</code>.
      </p>
    </div>
  )
}
