import { Button, Tabs } from '@mantine/core'
import { PlusIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { PageHeader } from '../parts/page-header.tsx'
import { useFilters } from '../parts/pages/use-filters.ts'
import { CreateDialog } from './create-dialog.tsx'
import { KeyTable } from './key-table.tsx'
import { RoleTable } from './role-table.tsx'
import styles from './keys.module.css'

/** The access keys of the tenant, and what the roles permit. */
export function KeysPage() {
  const [{ tab }, setFilter] = useFilters(['tab'])
  const [isCreating, setCreating] = useState(false)
  const create = () => setCreating(true)
  return (
    <>
      <PageHeader
        title="Keys"
        actions={
          <Button leftSection={<PlusIcon />} onClick={create}>
            Create key
          </Button>
        }
      >
        Who may use the service, and for what. A key is a caller, its roles and its end.
      </PageHeader>
      <Tabs value={tab ?? 'keys'} onChange={(value) => setFilter('tab', value === 'keys' ? undefined : value)} className={styles.tabs}>
        <Tabs.List className={styles.tabList}>
          <Tabs.Tab value="keys">Keys</Tabs.Tab>
          <Tabs.Tab value="roles">Roles</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="keys" className={styles.panel}>
          {tab === undefined && <KeyTable onCreate={create} />}
        </Tabs.Panel>
        <Tabs.Panel value="roles" className={styles.panel}>
          {tab === 'roles' && <RoleTable />}
        </Tabs.Panel>
      </Tabs>
      <CreateDialog opened={isCreating} onClose={() => setCreating(false)} />
    </>
  )
}
