module {
  tt.func public @kernel(%p: !tt.ptr<f32>, %q: !tt.ptr<f16>, %d: !tt.tensordesc<tensor<8x16xf16>>, %n: i64, %m: i64, %bits: tensor<8x1xi1>, %zero: f32) attributes {noinline = false} {
    %a = npu.load %p[%n, %m] : !tt.ptr<f32> -> tensor<8x16xf32>
    %b = npu.load %p[%n, %m] lower [1: %n] upper [0: %n, 1: %m] wrap [0: %n mod %m] mask %bits : tensor<8x1xi1> other %zero : f32 : !tt.ptr<f32> -> tensor<8x16xf32, #npu.lanes<1>>
    %c = npu.relayout %b : tensor<8x16xf32, #npu.lanes<1>> -> tensor<8x16xf32, #npu.uniform>
    %e:2 = npu.start_load %p[%n, %m] upper [1: %n] other %a : tensor<8x16xf32> {npu.addresses = array<i64: 0, 64>} : !tt.ptr<f32> -> tensor<8x16xf32>
    %f = npu.wait %e#1, %e#0 : tensor<8x16xf32>
    npu.store %f to %p[%n, %m] upper [0: %n] mask %bits : tensor<8x1xi1> : tensor<8x16xf32> -> !tt.ptr<f32>
    %g = npu.start_store %f to %p[%n, %m] {tag = 1 : i32} : tensor<8x16xf32> -> !tt.ptr<f32>
    npu.wait %g
    %h = npu.descriptor_base %d : !tt.tensordesc<tensor<8x16xf16>> -> !tt.ptr<f16>
    %i = npu.descriptor_fill %d : !tt.tensordesc<tensor<8x16xf16>> -> f16
    %j = npu.apart %p, %d : !tt.ptr<f32>, !tt.tensordesc<tensor<8x16xf16>>
    npu.probe %f {number = 7 : i32} : tensor<8x16xf32>
    tt.return
  }
}
