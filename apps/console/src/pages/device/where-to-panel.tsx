import type { DeviceView } from '@herald/client'
import { Button, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { explain } from '../../api/calls.ts'
import { useAppId } from '../../app/session.ts'
import { Explained } from '../../parts/explained.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Problem } from '../../parts/problem.tsx'

/** Which channel a plain push to this device would take. */
export function WhereToPanel({ device }: { device: DeviceView }) {
  const { t } = useTranslation()
  const appId = useAppId()
  const asking = useMutation({
    mutationFn: () =>
      explain(
        appId,
        JSON.stringify({ push_token: device.push_token, message: { title: t('device.testTitleDefault') } }),
      ),
  })
  return (
    <Panel
      title={t('device.explain')}
      aside={
        <Button size="xs" variant="default" loading={asking.isPending} onClick={() => asking.mutate()}>
          {t('send.explainButton')}
        </Button>
      }
    >
      <Stack gap="xs">
        {asking.isError && <Problem error={asking.error} />}
        {asking.data ? (
          <Explained device={device.device_guid} explanation={asking.data} />
        ) : (
          <Text size="sm" c="dimmed">
            {t('device.explainHint')}
          </Text>
        )}
      </Stack>
    </Panel>
  )
}
