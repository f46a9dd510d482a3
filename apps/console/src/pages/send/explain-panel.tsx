import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { explain, findDevices } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { ExplanationView } from '../../components/explanation-view.tsx'
import { Panel } from '../../components/panel.tsx'
import { useAppId } from '../../session/session.ts'

/** An alias may have many devices; each costs a call. */
const MAX_DEVICES = 5

/** Shows which channel a device would receive this message through, without sending it. */
export function ExplainPanel({ text }: { text(pushToken: string): string }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [query, setQuery] = useState('')
  const explaining = useMutation({
    mutationFn: async () => {
      const found = await findDevices(appId, query.trim(), MAX_DEVICES)
      if (!found) return undefined
      const explained = found.list.map(async (device) => ({
        device,
        explanation: await explain(appId, text(device.push_token)),
      }))
      return { ...found, list: await Promise.all(explained) }
    },
  })
  const found = explaining.data
  return (
    <Panel title={t('send.explain')}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          explaining.mutate()
        }}
      >
        <Stack gap="sm">
          <TextInput
            label={t('send.explainDevice')}
            description={t('send.explainHint')}
            value={query}
            required
            withAsterisk={false}
            onChange={({ currentTarget }) => setQuery(currentTarget.value)}
          />
          <Group justify="flex-end">
            <Button type="submit" variant="default" loading={explaining.isPending}>
              {t('send.explainButton')}
            </Button>
          </Group>
          {explaining.isError && <ErrorAlert error={explaining.error} />}
          {explaining.isSuccess && !found && (
            <Text role="status" size="sm">
              {t('send.explainNone')}
            </Text>
          )}
          {found && found.list.length > 1 && (
            <Text role="status" size="sm">
              {t(found.more ? 'send.explainMore' : 'send.explainSeveral', { n: found.list.length })}
            </Text>
          )}
          {found?.list.map(({ device, explanation }) => (
            <ExplanationView key={device.device_guid} device={device.device_guid} explanation={explanation} />
          ))}
        </Stack>
      </form>
    </Panel>
  )
}
