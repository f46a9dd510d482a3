import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { explain, findDevice } from '../../api/calls.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { ExplanationView } from '../../components/explanation-view.tsx'
import { Panel } from '../../components/panel.tsx'
import { useAppId } from '../../session/session.ts'

/** Shows which channel one device would receive this message through, without sending it. */
export function ExplainPanel({ text }: { text(pushToken: string): string }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const [query, setQuery] = useState('')
  const explaining = useMutation({
    mutationFn: async () => {
      const device = await findDevice(appId, query.trim())
      return device && { device, explanation: await explain(appId, text(device.push_token)) }
    },
  })
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
          {explaining.isSuccess && !explaining.data && (
            <Text role="status" size="sm">
              {t('send.explainNone')}
            </Text>
          )}
          {explaining.data && (
            <ExplanationView
              device={explaining.data.device.device_guid}
              explanation={explaining.data.explanation}
            />
          )}
        </Stack>
      </form>
    </Panel>
  )
}
