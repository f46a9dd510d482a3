import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { createApplication } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Panel } from '../../components/panel.tsx'

/** The secret is shown only once. */
export type Created = { name: string; app_id: string; app_secret: string }

export function CreateForm({ onCreated }: { onCreated(created: Created): void }) {
  const { t } = useTranslation()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [packageName, setPackageName] = useState('')
  const creating = useMutation({
    mutationFn: async () => {
      const fields = { name: name.trim(), package_name: packageName.trim() }
      return { name: fields.name, ...(await createApplication(fields)) }
    },
    onSuccess: async (created) => {
      setName('')
      setPackageName('')
      onCreated(created)
      await queries.invalidateQueries({ queryKey: ['applications'] })
    },
  })
  return (
    <Panel title={t('applications.create')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          creating.mutate()
        }}
      >
        <Stack gap="sm">
          <Group align="flex-end" gap="sm">
            <TextInput
              className="grow"
              miw={200}
              label={t('applications.name')}
              value={name}
              maxLength={128}
              required
              withAsterisk={false}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
            />
            <TextInput
              className="grow"
              miw={200}
              label={t('applications.packageName')}
              value={packageName}
              maxLength={255}
              onChange={({ currentTarget }) => setPackageName(currentTarget.value)}
            />
            <Button type="submit" loading={creating.isPending}>
              {t('applications.submit')}
            </Button>
          </Group>
          <ErrorAlert error={creating.error} />
        </Stack>
      </form>
    </Panel>
  )
}
